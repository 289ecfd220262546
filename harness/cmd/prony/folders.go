package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// Default folders of commands, relative to the working directory.
const (
	// defaultOut is the parent of run folders.
	defaultOut = "runs"
	// defaultScenarios is the folder of scenario files.
	defaultScenarios = "scenarios"
	// defaultBaselines is the folder of the limits of scenarios.
	defaultBaselines = "baselines"
	// defaultReports is the folder of the published pages.
	defaultReports = "reports"
)

// loadBaselines reads the limits in a folder. If the folder does not exist, the error is
// fs.ErrNotExist and explains how to continue.
func loadBaselines(dir string) (*gate.Baselines, error) {
	limits, err := gate.LoadBaselines(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &absentError{fmt.Sprintf(`there is no folder %q, which the limits of scenarios are read from (--baselines)
  name the folder with --baselines, or work in the root of Prony's repository, which has one
  without it only runs whose scenarios have "limit" blocks are judged; `+"`prony run` measures without limits", dir)}
	}
	return limits, err
}

// baselinesFlag adds --baselines to a command that shows verdicts.
func baselinesFlag(c *cobra.Command, dir *string) {
	c.Flags().StringVar(dir, "baselines", defaultBaselines, "folder of the limits that judge runs; without it only limit blocks of scenarios do")
}

// shownLimits reads the limits for verdicts on pages. The folder may be missing unless --baselines
// names it.
func shownLimits(c *cobra.Command, dir string) (*gate.Baselines, error) {
	limits, err := loadBaselines(dir)
	if errors.Is(err, fs.ErrNotExist) && !c.Flags().Changed("baselines") {
		return nil, nil
	}
	return limits, err
}

func findScenarios(dirs ...string) ([]string, error) {
	for _, dir := range dirs {
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			return nil, &absentError{fmt.Sprintf(`there is no folder %q to look for scenarios in
  name another one, or work in the root of Prony's repository, which has %s/
  `+"`prony init NAME` writes a first scenario", dir, defaultScenarios)}
		}
	}
	return scenario.Find(dirs...)
}

// soundIn returns the scenarios of folders, for completions and hints. It returns none if a file is
// missing or invalid.
func soundIn(dirs ...string) []*scenario.Scenario {
	files, err := scenario.Find(dirs...)
	if err != nil {
		return nil
	}
	all, err := scenario.Load(files...)
	if err != nil {
		return nil
	}
	return all
}

// absentError reports a folder that does not exist, with a remedy.
type absentError struct{ text string }

func (e *absentError) Error() string { return e.text }

// Is makes errors.Is match fs.ErrNotExist.
func (*absentError) Is(target error) bool { return target == fs.ErrNotExist }

// orLatest returns the given runs, or the newest run, even if it is incomplete. It resolves the
// link to the newest run, because the link may point to a later run by the time the output is read.
func orLatest(runs []string) ([]string, error) {
	if len(runs) > 0 {
		return runs, nil
	}
	link := filepath.Join(defaultOut, result.LatestLink)
	newest, err := filepath.EvalSymlinks(link)
	incomplete, incompleteErr := result.NewestIncomplete(defaultOut)
	if incompleteErr != nil {
		return nil, incompleteErr
	}
	// The names of run folders begin with the time.
	if incomplete != "" && (errors.Is(err, fs.ErrNotExist) || err == nil && filepath.Base(incomplete) > filepath.Base(newest)) {
		return []string{incomplete}, nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &absentError{fmt.Sprintf(`there is no newest run: %s does not exist here
  measure one, for example: prony run scenarios/smoke.hcl
  or name the folder of a run`, link)}
	}
	if err != nil {
		return nil, fmt.Errorf("find the newest run: %w", err)
	}
	return []string{newest}, nil
}

// otherFiles suggests existing scenario files for those that do not exist, one on each line. It
// returns "" without a suggestion.
func otherFiles(given []string) string {
	var lines []string
	for _, file := range given {
		if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if meant := otherFile(file); meant != "" {
			lines = append(lines, fmt.Sprintf("\nthere is no file %s: did you mean %s?", file, meant))
		}
	}
	return strings.Join(lines, "")
}

// otherFile returns the file below scenarios/ whose name matches or nearly matches, with or without
// the folder and the suffix.
func otherFile(file string) string {
	files, err := scenario.Find(defaultScenarios)
	if err != nil {
		return "" // no candidates
	}
	bare := func(path string) string { return strings.TrimSuffix(filepath.Base(path), ".hcl") }
	if i := slices.IndexFunc(files, func(f string) bool { return bare(f) == bare(file) }); i >= 0 {
		return files[i]
	}
	var names []string
	for _, f := range files {
		names = append(names, bare(f))
	}
	if meant := hclfile.Nearest(bare(file), names); meant != "" {
		return files[slices.Index(names, meant)]
	}
	return ""
}
