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

// BehindMax is by how many commits to what is measured a page may be older before it is called stale.
const BehindMax = 100

// The folders below that of the published pages.
const (
	dataPages = "scenarios" // pages that are made from data alone
	data      = "data"      // what those are made from, a folder for each
)

// Measured returns the commit that a published page's data is of, by the folder of the data; "" where the data does not say.
type Measured func(data string) (commit string, err error)

// Behind returns how many commits have changed what is measured since a commit. It is an error if the repository does not have the commit.
type Behind func(commit string) (int, error)

// Pages looks at the published pages in a folder. Each page in scenarios/ must have its data, in data/NAME. Each page of the folder itself must have
// its source, in pages/NAME.md, or a file NAME.hcl or a folder NAME beside it that it was made from. A page of data should not be older than
// BehindMax commits to what is measured, and of a commit that the repository has: all pages that are not share a warning for each of the two.
func Pages(reports string, measured Measured, behind Behind) ([]Finding, error) {
	all, err := withoutSource(reports, "the page has nothing that it was made from: there is no %s: bring it back, or remove the page", func(name string) []string {
		return []string{filepath.Join(reports, "pages", name+".md"), filepath.Join(reports, name+".hcl"), filepath.Join(reports, name)}
	})
	if err != nil {
		return nil, err
	}
	pages := filepath.Join(reports, dataPages)
	if !exists(pages) {
		return all, nil
	}
	const noData = "the page has no data that it was made from: publish it with prony report --publish, so that %s has it, or remove the page"
	found, err := withoutSource(pages, noData, func(name string) []string { return []string{filepath.Join(reports, data, name)} })
	if err != nil {
		return nil, err
	}
	stale, err := stalePages(reports, measured, behind)
	return slices.Concat(all, found, stale), err
}

// withoutSource finds the pages in a folder that have none of the sources that they can be made from, which format says.
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

// stalePages warns of the pages whose commit the repository does not have, and of those that are too many commits behind.
func stalePages(reports string, measured Measured, behind Behind) (all []Finding, err error) {
	pages := filepath.Join(reports, dataPages)
	names, err := pageNames(pages)
	if err != nil {
		return nil, err
	}
	var unknown, old []string
	for _, name := range names {
		commit, err := measured(filepath.Join(reports, data, name))
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
			all = append(all, Finding{pages, 1, Stale, fmt.Sprintf(format, render.Plural(len(names), "page"), strings.Join(names, ", "))})
		}
	}
	warn(unknown, "%s measured a commit that this repository does not have: measure again: %s")
	warn(old, fmt.Sprintf("%%s measured code that more than %d commits have changed since: measure again: %%s", BehindMax))
	return all, nil
}

// Differs returns the first line, from 1, in which a file is not the text that it should be: 0 if it is that text, and 1 if there is no file.
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
