package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/history"
	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/report"
	"github.com/pronybench/prony/harness/result"
)

// importedMax is the maximum number of results in one import.
const importedMax = 10_000

// imported is what `prony history import --json` prints.
type imported struct {
	Results int           `json:"results"` // results read
	Records int           `json:"records"` // records added
	Known   int           `json:"known"`   // results that already had records
	LeftOut []importNotes `json:"left_out"`
	Dropped []importNotes `json:"dropped"` // runs without a record
}

// importNotes name the figures of a result that the history lacks, and the reason.
type importNotes struct {
	File string `json:"file"`
	Run  string `json:"run,omitempty"` // "" if the file could not be read
	What string `json:"what"`
}

func (n importNotes) String() string {
	if n.Run == "" {
		return fmt.Sprintf("%s: %s", n.File, n.What)
	}
	return fmt.Sprintf("run %s: %s", n.Run, n.What)
}

func historyImportCommand() *cobra.Command {
	var folder, data string
	var asJSON bool
	c := &cobra.Command{
		Use:   "import [REVISION]",
		Short: "Add the records of results that past commits published",
		Long: `Reads every result.json that a commit of REVISION (default HEAD) published below --data, and adds the records of the results
that have none. It converts results of older versions if their figures still have the same meaning. Imported records have
the run's own verdict, because the limits at the time of publication are not stored. It prints each result and each figure
that it skipped, with the reason. It measures nothing and does not change existing records.`,
		Example:           "  prony history import",
		Args:              arguments{what: "revision", most: 1}.check,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			revision := "HEAD"
			if len(args) > 0 {
				revision = args[0]
			}
			done, err := importHistory(c.Context(), revision, data, folder)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(c, done)
			}
			return done.print(c.OutOrStdout())
		},
	}
	historyFlag(c, &folder)
	c.Flags().StringVar(&data, "data", defaultReports+"/data", "folder of the data of published pages")
	jsonFlag(c, &asJSON)
	return c
}

func (d *imported) print(w io.Writer) error {
	var b strings.Builder
	for _, n := range d.Dropped {
		fmt.Fprintf(&b, "dropped: %s\n", n)
	}
	for _, n := range d.LeftOut {
		fmt.Fprintf(&b, "recorded without some figures: %s\n", n)
	}
	fmt.Fprintf(&b, "%s read: %s added, %s dropped, %d known already\n",
		render.Plural(d.Results, "result"), render.Plural(d.Records, "record"), render.Plural(len(d.Dropped), "run"), d.Known)
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("print what was imported: %w", err)
	}
	return nil
}

// importHistory adds the records of the results that the commits of a revision published in a
// folder of data.
func importHistory(ctx context.Context, revision, data, folder string) (*imported, error) {
	blobs, err := publishedBlobs(ctx, revision, data)
	if err != nil {
		return nil, err
	}
	done := &imported{Results: len(blobs), LeftOut: []importNotes{}, Dropped: []importNotes{}}
	for _, b := range blobs {
		text, err := gitOutput(ctx, ".", "cat-file", "blob", b.hash)
		if err != nil {
			return nil, fmt.Errorf("read %s of a past commit: %w", b.file, err)
		}
		r, err := result.ParseResult(strings.TrimSuffix(b.file, result.PackedSuffix), text)
		if err != nil {
			done.Dropped = append(done.Dropped, importNotes{File: b.file, What: err.Error()})
			continue
		}
		added, left, err := addRecords(ctx, r, folder)
		switch reason := history.Dropped(err); {
		case reason != "":
			// A run may be published several times with other contents.
			if n := (importNotes{b.file, r.Run, reason}); !slices.Contains(done.Dropped, n) {
				done.Dropped = append(done.Dropped, n)
			}
		case errors.Is(err, history.ErrRecorded):
			done.Known++
		case err != nil:
			return nil, err
		case left != "":
			done.LeftOut = append(done.LeftOut, importNotes{b.file, r.Run, left})
		}
		done.Records += added
	}
	return done, nil
}

// publishedBlob is one version of a published result.json.
type publishedBlob struct{ hash, file string }

// publishedBlobs returns all versions of the published result.json files in the history of a
// revision, the oldest first.
func publishedBlobs(ctx context.Context, revision, data string) ([]publishedBlob, error) {
	commit, err := git(ctx, ".", "rev-parse", "--verify", "--end-of-options", revision+"^{commit}")
	if err != nil {
		return nil, noCommit(ctx, ".", revision, err)
	}
	inside, err := withinRepository(ctx, data)
	if err != nil {
		return nil, err
	}
	if len(inside) == 0 {
		return nil, fmt.Errorf("--data %s is not in the repository: name the folder of its published data", data)
	}
	pattern := path.Join(filepath.ToSlash(inside[0]), "*", result.ResultFile)
	packed := pattern + result.PackedSuffix
	log, err := git(ctx, ".", "log", "--reverse", "--format=", "--raw", "--no-abbrev", "--no-renames", "-m", "--diff-filter=AM", commit, "--", ":(top,glob)"+pattern, ":(top,glob)"+packed)
	if err != nil {
		return nil, err
	}
	var blobs []publishedBlob
	seen := map[string]bool{}
	for line := range strings.Lines(log) { // ":MODE MODE HASH HASH A<tab>FILE"
		meta, file, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		fields := strings.Fields(meta)
		if len(fields) != 5 || seen[fields[3]] {
			continue
		}
		seen[fields[3]] = true
		blobs = append(blobs, publishedBlob{fields[3], file})
	}
	if len(blobs) > importedMax {
		return nil, fmt.Errorf("the commits of %s published %d results, more than %d: name an older revision first", revision, len(blobs), importedMax)
	}
	return blobs, nil
}

// addRecords adds the records of a result to a folder. left names the figures that were skipped,
// and the reason.
func addRecords(ctx context.Context, r *result.Result, folder string) (added int, left string, err error) {
	records, left, err := history.FromResult(r, commitOf(ctx, r.Manifest.Build.Commit))
	if err == nil {
		err = history.Append(folder, records...)
	}
	if err != nil {
		return 0, "", err
	}
	return len(records), left, nil
}

// commitOf returns the date and the tag of a commit, or a zero Commit if the repository does not
// have it.
func commitOf(ctx context.Context, commit string) (of history.Commit) {
	date, err := git(ctx, ".", "show", "--no-patch", "--format=%cI", "--end-of-options", commit+"^{commit}")
	if err != nil {
		return of
	}
	if of.Committed, err = time.Parse(time.RFC3339, date); err != nil {
		return history.Commit{}
	}
	// An error means that there is no tag.
	of.Tag, _ = git(ctx, ".", "describe", "--tags", "--abbrev=0", commit)
	return of
}

// publishRun publishes the page of a run, a comparison, a soak or a serial budget. It adds the
// records of a judged run to the history. A run without a record is reported and not an error.
func publishRun(ctx context.Context, w io.Writer, limits *gate.Baselines, run, reports string) ([]string, error) {
	files, err := report.Publish(limits, run, reports)
	if err != nil {
		return nil, err
	}
	stored, err := report.Open(limits, run)
	if err != nil {
		return nil, err
	}
	if stored.Run == nil {
		return files, nil // only runs have records
	}
	_, _, err = addRecords(ctx, stored.Run, report.HistoryFolder(reports))
	if reason := history.Dropped(err); reason != "" {
		say(w, "%s: its page is published, but the history has no record of it: %s", stored.Run.Scenario, reason)
		return files, nil
	}
	if err != nil && !errors.Is(err, history.ErrRecorded) { // a run may be published several times
		return nil, fmt.Errorf("%s is published, but its record is not in the history: %w", files[0], err)
	}
	return files, nil
}
