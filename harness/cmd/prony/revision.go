package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pronybench/prony/harness/result"
)

const (
	gitTimeout   = time.Minute
	buildTimeout = 10 * time.Minute
	buildLines   = 20 // of a failed build are shown
)

// builder builds servers from revisions of the repository, in a temporary folder. close must be called.
type builder struct {
	root string // of the repository
	tags string // build tags
	dir  string // temporary
	// worktrees are those added, which close removes.
	worktrees []string
}

// newBuilder finds the repository of the working directory.
func newBuilder(ctx context.Context, tags string) (*builder, error) {
	root, err := git(ctx, ".", "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, fmt.Errorf("find the repository: %w", err)
	}
	dir, err := os.MkdirTemp("", "prony-build-")
	if err != nil {
		return nil, fmt.Errorf("make a folder to build in: %w", err)
	}
	return &builder{root: root, tags: tags, dir: dir}, nil
}

// close removes all that was built, and the worktrees with what git keeps of them, also when ctx is done.
func (b *builder) close(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	var errs []error
	for _, tree := range b.worktrees {
		if _, err := git(ctx, b.root, "worktree", "remove", "--force", "--force", tree); err != nil {
			errs = append(errs, err)
		}
	}
	if err := os.RemoveAll(b.dir); err != nil {
		errs = append(errs, fmt.Errorf("remove what was built: %w", err))
	}
	return errors.Join(errs...)
}

// server is a queued binary, and what it was built from.
type server struct {
	path  string
	build result.Build
}

// revision builds the server of a revision, checked out aside, as name.
func (b *builder) revision(ctx context.Context, name, rev string) (server, error) {
	commit, err := git(ctx, b.root, "rev-parse", "--verify", "--end-of-options", rev+"^{commit}")
	if err != nil {
		return server{}, fmt.Errorf("%s: %q is not a commit of this repository: %w", name, rev, err)
	}
	tree := filepath.Join(b.dir, name+"-source")
	b.worktrees = append(b.worktrees, tree)
	if _, err := git(ctx, b.root, "worktree", "add", "--detach", tree, commit); err != nil {
		return server{}, fmt.Errorf("check out %s: %w", rev, err)
	}
	return b.compile(ctx, name, tree, result.Build{Commit: commit})
}

// workingTree builds the server of the tree as it stands, as name.
func (b *builder) workingTree(ctx context.Context, name string) (server, error) {
	commit, err := git(ctx, b.root, "rev-parse", "--verify", "HEAD")
	if err != nil {
		return server{}, err
	}
	status, err := git(ctx, b.root, "status", "--porcelain")
	if err != nil {
		return server{}, err
	}
	return b.compile(ctx, name, b.root, result.Build{Commit: commit, Dirty: status != ""})
}

// compile builds with the same flags wherever the source lies, and without a stamp, so that equal sources yield equal binaries.
func (b *builder) compile(ctx context.Context, name, source string, build result.Build) (server, error) {
	s := server{path: filepath.Join(b.dir, name, "queued"), build: build}
	ctx, cancel := context.WithTimeout(ctx, buildTimeout)
	defer cancel()
	c := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-tags", b.tags, "-o", s.path, "./cmd/queued")
	c.Dir = filepath.Join(source, "engine")
	// A workspace named in the environment would mix the source of one side into the other.
	c.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GOWORK=") && v != "GOWORK=off" })
	c.WaitDelay = 5 * time.Second
	var output bytes.Buffer
	c.Stdout, c.Stderr = &output, &output
	if err := c.Run(); err != nil {
		return server{}, fmt.Errorf("build %s of %s: %w\n%s", name, build.Commit, errors.Join(err, ctx.Err()), lastLines(output.String()))
	}
	return s, nil
}

// lastLines is the end of what a build printed.
func lastLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-buildLines):], "\n")
}

// git runs a git command in dir and returns what it printed.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	c := exec.CommandContext(ctx, "git", args...)
	c.Dir = dir
	c.WaitDelay = time.Second
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	if err := c.Run(); err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(stdout.String()), nil
}
