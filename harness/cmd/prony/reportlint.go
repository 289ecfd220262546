package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/pages"
	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/report/lint"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/walk"
)

// linted is what `prony report lint --json` prints.
type linted struct {
	Verdict  result.Verdict `json:"verdict"`
	Files    int            `json:"files"`
	Findings []lint.Finding `json:"findings"`
	Warnings []lint.Finding `json:"warnings"`
}

func reportLintCommand() *cobra.Command {
	var reports, baselines string
	var asJSON bool
	c := &cobra.Command{
		Use:   "lint [FILE|DIR...]",
		Short: "Find praise without figures, rates without a source and dead links in documents and pages",
		Long: `Checks Markdown files, and the published pages in --reports, and prints these problems:

  praise      a word such as "fast" or "scalable" without a figure in its sentence
  provenance  a rate in a section without code or a link to its source, or a page without its data
  link        a link within the repository to a missing file or heading
  typed       a number with a unit of measurement in the source of a page (prony report set), whose figures must come from data; sizes and
              settings are in code spans there
  generated   a page or a plot that differs from the output of its source, the data and the limits, or a source whose names or statements
              the data do not support
  stale       (a warning) pages that are more than ` + strconv.Itoa(lint.BehindMax) + ` commits to engine/ and harness/ older than the checkout, or of a commit
              that the repository does not have: one line for each of the two

Without FILE or DIR it checks everything below the working directory, except folders named testdata, runs and node_modules and those whose
names begin with a dot. The exit code is ` + strconv.Itoa(result.Regressed.ExitCode()) + ` after findings, and 0 if there are only warnings.`,
		Example: `  prony report lint
  prony report lint README.md reports`,
		RunE: func(c *cobra.Command, paths []string) error {
			limits, err := shownLimits(c, baselines)
			if err != nil {
				return err
			}
			found, err := lintFiles(c.Context(), limits, reports, paths)
			if err != nil {
				return err
			}
			if asJSON {
				err = printJSON(c, found)
			} else {
				err = writeLint(c.OutOrStdout(), found)
			}
			if err == nil && found.Verdict != result.Pass {
				return verdictError{found.Verdict}
			}
			return err
		},
	}
	c.Flags().StringVar(&reports, "reports", defaultReports, "folder of the published pages; if it does not exist, pages need no data")
	baselinesFlag(c, &baselines)
	jsonFlag(c, &asJSON)
	return c
}

// lintFiles checks the Markdown files of files and folders, and the published pages.
func lintFiles(ctx context.Context, limits *gate.Baselines, reports string, paths []string) (*linted, error) {
	if len(paths) == 0 {
		paths = []string{"."}
	}
	files, err := markdownFiles(paths)
	if err != nil {
		return nil, err
	}
	sources, err := pages.Sources(reports)
	if err != nil {
		return nil, err
	}
	// A source has the links of its page, and no figures, so it is not checked as a document.
	documents := slices.DeleteFunc(slices.Clone(files), func(file string) bool { return slices.Contains(sources, filepath.Clean(file)) })
	findings, err := lint.Files(documents...)
	if err != nil {
		return nil, err
	}
	typed, err := lint.Sources(sources...)
	if err != nil {
		return nil, err
	}
	made, err := generatedPages(limits, reports)
	if err != nil {
		return nil, err
	}
	findings = slices.Concat(findings, typed, made)
	if info, err := os.Stat(reports); err == nil && info.IsDir() {
		published, err := lint.Pages(reports, measuredCommit, func(commit string) (int, error) { return commitsBehind(ctx, commit) })
		if err != nil {
			return nil, err
		}
		findings = append(findings, published...)
	}
	found := &linted{Verdict: result.Pass, Files: len(files), Findings: []lint.Finding{}, Warnings: []lint.Finding{}}
	for _, f := range findings {
		if f.Warning() {
			found.Warnings = append(found.Warnings, f)
			continue
		}
		found.Findings = append(found.Findings, f)
		found.Verdict = result.Regressed
	}
	return found, nil
}

// lintedFilesMax is the maximum number of files to check.
const lintedFilesMax = 10_000

// markdownFiles returns the named files, and the Markdown files below the named folders.
func markdownFiles(paths []string) (files []string, err error) {
	for _, root := range paths {
		err := walk.Dir(root, func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case path == root && !entry.IsDir():
				files = append(files, path)
			case entry.IsDir() && path != root && (strings.HasPrefix(entry.Name(), ".") || slices.Contains([]string{"testdata", defaultOut, "node_modules"}, entry.Name())):
				return fs.SkipDir
			case entry.Type().IsRegular() && strings.HasSuffix(path, ".md"):
				files = append(files, path)
			}
			if len(files) > lintedFilesMax {
				return fmt.Errorf("there are more than %d files; name a smaller folder", lintedFilesMax)
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("look for Markdown files in %s: %w", root, err)
		}
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}

// measuredCommit returns the commit of published data, or "" if it is not the data of a run.
func measuredCommit(data string) (string, error) {
	if isRun, err := result.Exists(data, result.ResultFile); err != nil || !isRun {
		return "", err // comparisons and soaks have other files
	}
	r, _, err := result.Read(data)
	if err != nil {
		return "", err
	}
	return r.Manifest.Build.Commit, nil
}

// commitsBehind returns the number of commits since the given one that changed measured files.
func commitsBehind(ctx context.Context, commit string) (int, error) {
	count, err := git(ctx, ".", append([]string{"rev-list", "--count", commit + "..HEAD", "--"}, measuredFiles...)...)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(count)
}

func writeLint(w io.Writer, found *linted) error {
	var b strings.Builder
	for _, f := range found.Findings {
		fmt.Fprintln(&b, f)
	}
	for _, f := range found.Warnings {
		fmt.Fprintf(&b, "%s (a warning)\n", f)
	}
	fmt.Fprintf(&b, "lint: %s, %s, %s\n", render.Plural(found.Files, "file"), render.Plural(len(found.Findings), "finding"),
		render.Plural(len(found.Warnings), "warning"))
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("print what was found: %w", err)
	}
	return nil
}
