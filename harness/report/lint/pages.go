package lint

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// BehindMax is by how many commits to what is measured a page may be older before it is called stale.
const BehindMax = 100

// Measured returns the commit that a published page's data is of, by the folder of the data; "" where the data does not say.
type Measured func(data string) (commit string, err error)

// Behind returns how many commits have changed what is measured since a commit. It is an error if the repository does not have the commit.
type Behind func(commit string) (int, error)

// Pages looks at the published pages in a folder: each must have the data that it was made from, in data/NAME, or a file NAME.hcl beside it, and
// should not be older than BehindMax commits to what is measured. A commit that the repository does not have is a warning too.
func Pages(reports string, measured Measured, behind Behind) (all []Finding, err error) {
	entries, err := os.ReadDir(reports)
	if err != nil {
		return nil, fmt.Errorf("lint: %w", err)
	}
	for _, e := range entries {
		name, isPage := strings.CutSuffix(e.Name(), ".md")
		if !isPage || e.IsDir() || name == "README" {
			continue
		}
		page := filepath.Join(reports, e.Name())
		data := filepath.Join(reports, "data", name)
		if !slices.ContainsFunc([]string{data, filepath.Join(reports, name+".hcl"), filepath.Join(reports, name)}, exists) {
			all = append(all, Finding{page, 1, Provenance, fmt.Sprintf("the page has no data that it was made from: publish it with prony report --publish, so that %s has it, or remove the page", data)})
			continue
		}
		commit, err := measured(data)
		if err != nil {
			return nil, err
		}
		if commit == "" {
			continue
		}
		n, err := behind(commit)
		switch {
		case err != nil:
			all = append(all, Finding{page, 1, Stale, fmt.Sprintf("the page measured commit %s, which this repository does not have: measure it again", commit)})
		case n > BehindMax:
			all = append(all, Finding{page, 1, Stale, fmt.Sprintf("%d commits have changed what is measured since the page's commit %s: measure it again", n, commit)})
		}
	}
	return all, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
