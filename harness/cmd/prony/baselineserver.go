package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/pronybench/prony/harness/baselinebuild"
	"github.com/pronybench/prony/harness/result"
)

// baselineServersKept is the maximum number of baseline servers in the cache folder.
const baselineServersKept = 4

// baselineServer is the server of the baseline build.
type baselineServer struct {
	build    baselinebuild.Build
	path     string            // of its binary
	expected map[string]string // fixed-work counters that later commits declare to differ
}

// findBaselineServer returns the server of the baseline build from the cache folder. If the cache
// does not have it, it builds the server from the repository of the working directory. In a shallow
// clone it fetches the commit first.
func findBaselineServer(ctx context.Context, build baselinebuild.Build, stderr io.Writer) (_ *baselineServer, err error) {
	b, err := newBuilder(ctx, "")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.close(ctx)) }()
	if err := b.fetch(ctx, build.Commit); err != nil {
		return nil, err
	}
	base := &baselineServer{build: build}
	here, err := b.here(ctx, "change")
	if err != nil {
		return nil, err
	}
	if base.expected, err = b.expected(ctx, [2]source{{build: result.Build{Commit: build.Commit}}, here}); err != nil {
		return nil, err
	}
	folder, err := baselineCache(ctx, b.root, build.Commit)
	if err != nil {
		return nil, err
	}
	base.path = filepath.Join(folder, "queued")
	if _, err := os.Stat(base.path); err == nil {
		now := time.Now()
		// pruneCache removes the least recently used servers.
		return base, os.Chtimes(folder, now, now)
	}
	say(stderr, "building the server of baseline build %.7s, once", build.Commit)
	if err := b.building(stderr, func() error { return b.baseline(ctx, build.Commit, base.path) }); err != nil {
		return nil, fmt.Errorf("baseline build %.7s: %w", build.Commit, err)
	}
	return base, pruneCache(filepath.Dir(folder))
}

func (b *builder) fetch(ctx context.Context, commit string) error {
	if _, err := git(ctx, b.root, "cat-file", "-e", commit+"^{commit}"); err == nil {
		return nil
	}
	if _, err := git(ctx, b.root, "fetch", "--quiet", "--depth", "1", "origin", commit); err != nil {
		return fmt.Errorf("the repository lacks baseline build %.7s and cannot fetch it: %w", commit, err)
	}
	return nil
}

// baseline builds the server of a commit to a path, with the flags of `make build`, so that the go
// command compiles shared packages once. From the commit it takes only the engine and the files
// that the workspace needs.
func (b *builder) baseline(ctx context.Context, commit, path string) error {
	tree := filepath.Join(b.dir, "baseline")
	if err := os.Mkdir(tree, 0o700); err != nil {
		return fmt.Errorf("make a folder to build in: %w", err)
	}
	if err := extract(ctx, b.root, tree, commit, "engine", "go.work*", "*go.[ms]*"); err != nil {
		return err
	}
	built := filepath.Join(b.dir, "baseline-queued")
	b.step("the server of baseline build %.7s", commit)
	if err := goCommand(ctx, filepath.Join(tree, "engine"), "", nil, "build", "-buildvcs=false", "-o", built, "./cmd/queued"); err != nil {
		return fmt.Errorf("build: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("make the cache folder: %w", err)
	}
	content, err := os.ReadFile(built)
	if err != nil {
		return fmt.Errorf("read the built server: %w", err)
	}
	part := path + ".part"
	if err := os.WriteFile(part, content, 0o700); err != nil {
		return fmt.Errorf("store the server in the cache: %w", err)
	}
	return os.Rename(part, path)
}

func extract(ctx context.Context, repository, into, commit string, paths ...string) error {
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	archive := filepath.Join(into, ".tar")
	if _, err := git(ctx, repository, append([]string{"archive", "--format=tar", "--output=" + archive, commit, "--"}, paths...)...); err != nil {
		return err
	}
	if output, err := exec.CommandContext(ctx, "tar", "-x", "-f", archive, "-C", into).CombinedOutput(); err != nil {
		return fmt.Errorf("unpack %.7s: %w: %s", commit, err, strings.TrimSpace(string(output)))
	}
	return os.Remove(archive)
}

// baselineCache returns the cache folder of a baseline build's server. Its name depends on the
// commit, the Go version, the platform, and the settings of the go command that affect the binary.
func baselineCache(ctx context.Context, root, commit string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache folder: %w", err)
	}
	c := exec.CommandContext(ctx, "go", "env", "GOVERSION", "CGO_ENABLED", "GOAMD64", "GOARM64")
	c.Dir = root
	settings, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("ask the go command for its version: %w", err)
	}
	key := append([]string{commit, runtime.GOOS, runtime.GOARCH}, strings.Fields(string(settings))...)
	return filepath.Join(cache, "prony", "baseline-builds", strings.Join(key, "-")), nil
}

// pruneCache removes the least recently used servers until baselineServersKept remain.
func pruneCache(folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return fmt.Errorf("read the cache folder: %w", err)
	}
	used := map[string]time.Time{}
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			used[e.Name()] = info.ModTime()
		}
	}
	slices.SortFunc(entries, func(a, b os.DirEntry) int { return used[b.Name()].Compare(used[a.Name()]) })
	var errs []error
	for _, e := range entries[min(len(entries), baselineServersKept):] {
		errs = append(errs, os.RemoveAll(filepath.Join(folder, e.Name())))
	}
	return errors.Join(errs...)
}
