package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/report"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// measuredFiles are the files that can affect a figure, as git pathspecs relative to the root of
// the repository. Packages that only judge or show the figures of a finished run are excluded.
var measuredFiles = []string{
	":/engine", ":/harness", ":/go.work", ":(top,exclude)*_test.go", ":(top,exclude)*.md",
	":(top,exclude)harness/browser", ":(top,exclude)harness/gate", ":(top,exclude)harness/history", ":(top,exclude)harness/pages", ":(top,exclude)harness/report",
}

// code is the checked-out commit. All measured files are committed.
type code struct{ head string }

// committedCode returns the checked-out commit. It returns an error if a file has uncommitted
// changes, except published pages and baselines, which publishing itself changes.
func committedCode(ctx context.Context, reports string) (*code, error) {
	head, err := git(ctx, ".", "rev-parse", "--verify", "HEAD")
	if err != nil {
		return nil, fmt.Errorf("the working directory is not in a git repository with a commit: pages name the measured commit, so work in a checkout: %w", err)
	}
	aside, err := withinRepository(ctx, reports, defaultBaselines)
	if err != nil {
		return nil, err
	}
	status := []string{"status", "--porcelain", "--", ":/"}
	for _, path := range aside {
		status = append(status, ":(top,exclude)"+path)
	}
	changed, err := git(ctx, ".", status...)
	if err != nil {
		return nil, err
	}
	if changed != "" {
		first, _, _ := strings.Cut(changed, "\n")
		return nil, fmt.Errorf("files have uncommitted changes, such as %q: pages name the measured commit, so commit them first", strings.TrimSpace(first))
	}
	return &code{head}, nil
}

// committedFile returns an error if a scenario's file is not in the commit. committedCode has
// already excluded uncommitted changes, so a file that git tracks is.
func committedFile(ctx context.Context, file string) error {
	if known, err := git(ctx, ".", "ls-files", "--", file); err != nil || known == "" {
		return errors.Join(fmt.Errorf("%s is not committed, and a page names the scenario file: commit it, or use prony run", file), err)
	}
	return nil
}

// withinRepository returns the paths of folders relative to the root of the repository. It skips
// folders outside of it.
func withinRepository(ctx context.Context, folders ...string) (paths []string, err error) {
	root, err := git(ctx, ".", "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, err
	}
	for _, folder := range folders {
		path, err := filepath.Abs(folder)
		if err != nil {
			return nil, fmt.Errorf("find the folder %s: %w", folder, err)
		}
		if path, err = filepath.Rel(root, path); err == nil && filepath.IsLocal(path) && path != "." {
			paths = append(paths, path)
		}
	}
	return paths, nil
}

// same reports whether the measured files are the same at a commit. It returns false for a commit
// that the repository does not have.
func (c *code) same(ctx context.Context, commit string) bool {
	differs, err := git(ctx, ".", append([]string{"diff", "--name-only", commit, c.head, "--"}, measuredFiles...)...)
	return err == nil && differs == ""
}

// built returns an error if a server's file was not built from the code.
func (c *code) built(ctx context.Context, server string) error {
	if server == "" { // each topology has its own server, built from the working tree
		return nil
	}
	b := observe.Build(server)
	switch {
	case b.Commit == result.CommitUnknown:
		return fmt.Errorf("%s has no record of its commit: run make build", server)
	case b.Dirty:
		return fmt.Errorf("%s was built from a tree with uncommitted changes: run make build", server)
	case !c.same(ctx, b.Commit):
		return fmt.Errorf("%s was built from commit %s, and measured files have changed since: run make build", server, b.Commit)
	}
	return nil
}

// has reports whether the published page of a scenario is up to date. It returns false if it cannot
// read the page's data.
func (c *code) has(ctx context.Context, reports string, s *scenario.Scenario) bool {
	r, _, err := result.Read(report.DataFolder(reports, s.Name))
	if err != nil {
		return false
	}
	of := r.Manifest.Scenario
	return of.Configuration() == s.Configuration() && of.Rounds == s.Rounds && c.same(ctx, r.Manifest.Build.Commit)
}
