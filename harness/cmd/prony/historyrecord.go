package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/history"
	"github.com/pronybench/prony/harness/report"
	"github.com/pronybench/prony/harness/report/historypage"
	"github.com/pronybench/prony/harness/result"
)

// addRecords adds the records of a result to a folder.
func addRecords(ctx context.Context, r *result.Result, folder string) error {
	records, err := history.FromResult(r, commitOf(ctx, r.Manifest.Build.Commit))
	if err != nil {
		return err
	}
	return history.Append(folder, records...)
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
	err = addRecords(ctx, stored.Run, historypage.Folder(reports))
	if reason := history.Dropped(err); reason != "" {
		say(w, "%s: its page is published, but the history has no record of it: %s", stored.Run.Scenario, reason)
		return files, nil
	}
	if err != nil && !errors.Is(err, history.ErrRecorded) { // a run may be published several times
		return nil, fmt.Errorf("%s is published, but its record is not in the history: %w", files[0], err)
	}
	return files, nil
}
