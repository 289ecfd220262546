package lint

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pronybench/prony/harness/render"
)

// BehindMax is the number of commits to measured files after which a page is stale.
const BehindMax = 100

// data is the subfolder of the published pages with a folder for each scenario.
const data = "data"

// Measured returns the commit of a published page's data, by the folder of the data, or "" if it is
// not recorded.
type Measured func(data string) (commit string, err error)

// Behind returns the number of commits since the given one that changed measured files. It returns
// an error if the repository does not have the commit.
type Behind func(commit string) (int, error)

// Pages checks the published pages in a folder. Each page must have its source: pages/NAME.md,
// NAME.hcl or a folder NAME. The commit of published data should exist in the repository and be at
// most BehindMax commits old; all other data share one warning for each of the two problems.
func Pages(reports string, measured Measured, behind Behind) ([]Finding, error) {
	all, err := withoutSource(reports, "the page has no source: there is no %s: restore it, or remove the page", func(name string) []string {
		return []string{filepath.Join(reports, "pages", name+".md"), filepath.Join(reports, name+".hcl"), filepath.Join(reports, name)}
	})
	if err != nil {
		return nil, err
	}
	if !exists(filepath.Join(reports, data)) {
		return all, nil
	}
	stale, err := staleData(filepath.Join(reports, data), measured, behind)
	return append(all, stale...), err
}

// withoutSource finds the pages in a folder that have none of their possible sources. format is the
// text of the findings.
func withoutSource(folder, format string, sources func(name string) []string) (all []Finding, err error) {
	names, err := pageNames(folder)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if from := sources(name); !slices.ContainsFunc(from, exists) {
			all = append(all, Finding{filepath.Join(folder, name+".md"), 1, Provenance, fmt.Sprintf(format, strings.Join(from, " or "))})
		}
	}
	return all, nil
}

// pageNames returns the names of the pages in a folder, without ".md" and without the index.
func pageNames(folder string) (names []string, err error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("lint: %w", err)
	}
	for _, e := range entries {
		if name, isPage := strings.CutSuffix(e.Name(), ".md"); isPage && !e.IsDir() && name != "README" {
			names = append(names, name)
		}
	}
	return names, nil
}

// staleData warns of data of unknown commits and of data with more than BehindMax later commits.
func staleData(folder string, measured Measured, behind Behind) (all []Finding, err error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("lint: %w", err)
	}
	var unknown, old []string
	for _, entry := range entries {
		name := entry.Name()
		if !entry.IsDir() {
			continue
		}
		commit, err := measured(filepath.Join(folder, name))
		if err != nil {
			return nil, err
		}
		if commit == "" {
			continue
		}
		n, err := behind(commit)
		switch {
		case err != nil:
			unknown = append(unknown, fmt.Sprintf("%s (%s)", name, render.Commit(commit)))
		case n > BehindMax:
			old = append(old, fmt.Sprintf("%s (%d)", name, n))
		}
	}
	warn := func(names []string, format string) {
		if len(names) > 0 {
			all = append(all, Finding{folder, 1, Stale, fmt.Sprintf(format, render.Plural(len(names), "run"), strings.Join(names, ", "))})
		}
	}
	warn(unknown, "%s of a commit that this repository does not have: measure again: %s")
	warn(old, fmt.Sprintf("%%s of code that more than %d later commits changed: measure again: %%s", BehindMax))
	return all, nil
}

// Differs returns the first line, from 1, in which a file differs from the wanted text. It returns
// 0 if it is equal, and 1 if there is no file.
func Differs(path, want string) (int, error) {
	has, err := os.ReadFile(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return 1, nil
	case err != nil:
		return 0, fmt.Errorf("lint: %w", err)
	case string(has) == want:
		return 0, nil
	}
	is, should := strings.Split(string(has), "\n"), strings.Split(want, "\n")
	line := 0
	for line < min(len(is), len(should))-1 && is[line] == should[line] {
		line++
	}
	return line + 1, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
