package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pronybench/prony/harness/duet"
	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/result"
)

const (
	gitTimeout   = time.Minute
	buildTimeout = 10 * time.Minute
	buildLines   = 20 // number of output lines shown of a failed build

	// layouts is the number of different function orders that servers are linked with. The order
	// decides which functions share an instruction cache line, which can cost a percent or two.
	// With a single order, this would look like an effect of the change.
	layouts = 4

	// linked omits debug information, which nothing here reads. This halves the linker's work and
	// changes neither code nor data.
	linked = "-ldflags=-w"
)

// builder builds servers and generators from revisions of the repository in a temporary folder. The
// caller must call close.
type builder struct {
	root string // root of the repository
	tags string // build tags
	dir  string // temporary folder
	// worktrees are the git worktrees that close removes.
	worktrees []string
	activity  *activity // shows the progress of builds; nil for none
}

// building runs work and shows the progress of its builds.
func (b *builder) building(w io.Writer, work func() error) error {
	return during(w, "building", func(a *activity) error {
		b.activity = a
		defer func() { b.activity = nil }()
		return work()
	})
}

func (b *builder) step(format string, args ...any) {
	if b.activity != nil {
		b.activity.step(format, args...)
	}
}

// newBuilder finds the repository of the working directory, and makes the temporary folder.
func newBuilder(ctx context.Context, tags string) (*builder, error) {
	for _, p := range []struct{ name, does string }{{"git", "checks out revisions"}, {"go", "builds the programs"}} {
		if _, err := exec.LookPath(p.name); err != nil {
			return nil, fmt.Errorf("the program %s, which %s, is not in PATH: install it: %w", p.name, p.does, err)
		}
	}
	root, err := git(ctx, ".", "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, fmt.Errorf("the working directory is not in a git repository: work in a checkout of Prony, whose revisions are built: %w", err)
	}
	dir, err := os.MkdirTemp("", "prony-build-")
	if err != nil {
		return nil, fmt.Errorf("make a folder to build in: %w", err)
	}
	return &builder{root: root, tags: tags, dir: dir}, nil
}

// close removes all built files and the worktrees, with git's records of them, even if ctx is done.
func (b *builder) close(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	var errs []error
	for _, tree := range b.worktrees {
		if _, err := git(ctx, b.root, "worktree", "remove", "--force", "--force", tree); err != nil {
			errs = append(errs, err)
		}
	}
	if err := os.RemoveAll(b.dir); err != nil {
		errs = append(errs, fmt.Errorf("remove built files: %w", err))
	}
	return errors.Join(errs...)
}

// source is the source tree of one side.
type source struct {
	name  string // name of the side
	dir   string
	build result.Build
	// env is added to the environment of the go command that builds the side, such as GOAMD64=v3.
	// profile is the CPU profile for profile-guided optimisation of the server. Both are empty
	// unless a ratchet or a scenario sets them.
	env     []string
	profile string
	race    bool // with the race detector
}

// checkout checks out a revision into a worktree for the named side. Revision "" is the working
// tree in its current state.
func (b *builder) checkout(ctx context.Context, name, rev string) (source, error) {
	if rev == "" {
		return b.here(ctx, name)
	}
	commit, err := git(ctx, b.root, "rev-parse", "--verify", "--end-of-options", rev+"^{commit}")
	if err != nil {
		return source{}, fmt.Errorf("%s: %w", name, noCommit(ctx, b.root, rev, err))
	}
	tree := filepath.Join(b.dir, name+"-source")
	b.worktrees = append(b.worktrees, tree)
	if _, err := git(ctx, b.root, "worktree", "add", "--detach", tree, commit); err != nil {
		return source{}, fmt.Errorf("check out %s: %w", rev, err)
	}
	return source{name: name, dir: tree, build: result.Build{Commit: commit}}, nil
}

// git fetch accepts a full hash, or the name of a branch or a tag, but no abbreviated hash.
var (
	wholeHash = regexp.MustCompile(`^[0-9a-f]{40}$`)
	partHash  = regexp.MustCompile(`^[0-9a-f]+$`)
	refName   = regexp.MustCompile(`^[A-Za-z0-9][\w./-]*$`)
)

// noCommit explains a git error: a revision is not a commit in dir. For a shallow clone it names
// the git fetch that gets the commit.
func noCommit(ctx context.Context, dir, rev string, err error) error {
	if shallow, _ := git(ctx, dir, "rev-parse", "--is-shallow-repository"); shallow != "true" {
		return fmt.Errorf("%q is not a commit of this repository: %w", rev, err)
	}
	remedy := "`git fetch --unshallow`"
	switch {
	case wholeHash.MatchString(rev):
		remedy = fmt.Sprintf("`git fetch --depth 1 origin %s`", rev)
	case refName.MatchString(rev) && !partHash.MatchString(rev):
		remedy = fmt.Sprintf("`git fetch --depth 1 origin %s`, and name it FETCH_HEAD,", rev)
	}
	return fmt.Errorf("this clone is shallow, and %q is not a commit of it: run %s first", rev, remedy)
}

// here returns the working tree in its current state.
func (b *builder) here(ctx context.Context, name string) (source, error) {
	commit, err := git(ctx, b.root, "rev-parse", "--verify", "HEAD")
	if err != nil {
		return source{}, err
	}
	status, err := git(ctx, b.root, "status", "--porcelain")
	if err != nil {
		return source{}, err
	}
	return source{name: name, dir: b.root, build: result.Build{Commit: commit, Dirty: status != ""}}, nil
}

// server builds the server of a source with one layout of its functions. The linker orders them at
// random with the layout as the seed, so the same layout of equal sources is the same binary.
// Layout 0 is the linker's default order. Layouts above the constant layouts also have padding
// between the functions.
func (b *builder) server(ctx context.Context, s source, layout int) (path string, err error) {
	var flags []string
	path = filepath.Join(b.dir, s.name, "queued")
	if layout > 0 {
		path += fmt.Sprintf("-%d", layout)
		link := fmt.Sprintf("%s -randlayout=%d", linked, layout)
		if layout > layouts {
			link += " -funcalign=64"
		}
		flags = []string{link}
	}
	if s.profile != "" {
		flags = append(flags, "-pgo="+s.profile)
	}
	if s.race {
		flags, s.env = append(flags, "-race"), append(slices.Clip(s.env), "CGO_ENABLED=1")
	}
	b.step("the server of %s, layout %d", s.name, layout)
	return path, b.compile(ctx, s, filepath.Join(s.dir, "engine"), "./cmd/queued", path, "", flags...)
}

// side builds the servers of one side of a duet.
func (b *builder) side(ctx context.Context, s source) (duet.Side, error) {
	side := duet.Side{Name: s.name, Build: s.build, Servers: make([]string, layouts)}
	build := func(i int) (err error) {
		side.Servers[i], err = b.server(ctx, s, 1+i)
		return err
	}
	if err := build(0); err != nil { // the first build compiles, the others only link
		return side, err
	}
	return side, concurrently(layouts-1, runtime.GOMAXPROCS(0), func(i int) error { return build(1 + i) })
}

// concurrently calls do with 0 to n-1, at most limit calls at the same time, and returns the first
// error by number.
func concurrently(n, limit int, do func(i int) error) error {
	errs := make([]error, n)
	running := make(chan struct{}, limit)
	var all sync.WaitGroup
	for i := range n {
		running <- struct{}{}
		all.Go(func() {
			defer func() { <-running }()
			errs[i] = do(i)
		})
	}
	all.Wait()
	return cmp.Or(errs...)
}

// generators builds the load generator of both sides: this tree's harness with the engine's client
// of each side. Sides with the same client and the same dependencies share one file. If the
// generator does not compile for one side, both get this tree's client, and the warning reports it.
func (b *builder) generators(ctx context.Context, sources [2]source, sides *[2]duet.Side) (warning string, err error) {
	if err = b.ownGenerators(ctx, sources, sides); err == nil || ctx.Err() != nil {
		return "", err
	}
	warning = fmt.Sprintf("both sides use the client of the working tree, so a change of the client is not measured: %v", err)
	here, err := b.here(ctx, "client")
	if err != nil {
		return "", err
	}
	path, err := b.generator(ctx, here)
	if err != nil {
		return "", err
	}
	for i := range sides {
		sides[i].Generator, sides[i].OwnClient = path, false
	}
	return warning, nil
}

// ownGenerators builds the load generator with the client of each side. The go command does not
// link again if the output file is already up to date, so the change's build starts from a copy of
// the base's.
func (b *builder) ownGenerators(ctx context.Context, sources [2]source, sides *[2]duet.Side) error {
	base, err := b.generator(ctx, sources[duet.Base])
	if err != nil {
		return err
	}
	if _, err := newCopies(filepath.Join(b.dir, sources[duet.Change].name), []string{base}); err != nil {
		return err
	}
	change, err := b.generator(ctx, sources[duet.Change])
	if err != nil {
		return err
	}
	if observe.Binary(change) == observe.Binary(base) {
		change = base
	}
	for i, path := range []string{duet.Base: base, duet.Change: change} {
		sides[i].Generator, sides[i].OwnClient = path, true
	}
	return nil
}

// generator builds the load generator of this tree's harness with a source's engine.
func (b *builder) generator(ctx context.Context, s source) (path string, err error) {
	path = filepath.Join(b.dir, s.name, "generator")
	workspace := filepath.Join(b.dir, s.name, "go.work")
	harness := filepath.Join(b.root, "harness")
	b.step("the load generator of %s", s.name)
	if err := b.workspace(ctx, workspace, harness, filepath.Join(s.dir, "engine")); err != nil {
		return "", fmt.Errorf("build the generator with the client of %s: %w", s.name, err)
	}
	return path, b.compile(ctx, s, harness, "./cmd/generator", path, workspace, linked)
}

// workspace writes a Go workspace of modules, with the checksums of the repository's workspace.
func (b *builder) workspace(ctx context.Context, path string, modules ...string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	sums, err := os.ReadFile(filepath.Join(b.root, "go.work.sum"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.WriteFile(path+".sum", sums, 0o600); err != nil {
		return err
	}
	return goCommand(ctx, filepath.Dir(path), path, nil, append([]string{"work", "init"}, modules...)...)
}

// compile builds a program of a source. It uses the same flags in every folder and no build stamp,
// so that equal sources produce equal binaries. It runs in dir, the folder of the program's module,
// with a workspace file, or "" for the one that the go command finds.
func (b *builder) compile(ctx context.Context, s source, dir, program, path, workspace string, flags ...string) error {
	args := append([]string{"build", "-trimpath", "-buildvcs=false", "-tags", b.tags, "-o", path}, flags...)
	if err := goCommand(ctx, dir, workspace, s.env, append(args, program)...); err != nil {
		return fmt.Errorf("build %s of %s: %w", s.name, s.build.Commit, err)
	}
	return nil
}

// goCommand runs a go command in dir with a workspace file, or "" for the one that the go command
// finds, and adds env to the environment. The error contains the last lines of its output.
func goCommand(ctx context.Context, dir, workspace string, env []string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, buildTimeout)
	defer cancel()
	c := exec.CommandContext(ctx, "go", args...)
	c.Dir = dir
	c.Env = append(environment(), env...)
	if workspace != "" {
		c.Env = append(c.Env, "GOWORK="+workspace)
	}
	c.WaitDelay = 5 * time.Second
	var output bytes.Buffer
	c.Stdout, c.Stderr = &output, &output
	if err := c.Run(); err != nil {
		return fmt.Errorf("%w\n%s", errors.Join(err, ctx.Err()), lastLines(output.String()))
	}
	return nil
}

// environment returns the environment of this process without GOWORK, unless it is off. A workspace
// in it would mix the source of one side into the other.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GOWORK=") && v != "GOWORK=off" })
}

// lastLines returns the end of a build's output.
func lastLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-buildLines):], "\n")
}

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
