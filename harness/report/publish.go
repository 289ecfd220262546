package report

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"strings"
	"time"

	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/report/stalls"
	"github.com/pronybench/prony/harness/result"
)

// Publish copies the data of a run's page to reportsDir/data/<scenario>, with its profiles and
// without the slow commits that no page shows. It keeps a summary of the previously published run,
// for the repeatability of the figures. It renders the page from the copy into
// reportsDir/scenarios, and returns the paths of the page and its plots. The data of a comparison
// goes to data/compare-<scenario>.
//
// Publish accepts the latest complete run of a scenario (see incomplete), even if it breaks limits.
// It refuses other runs with an *UnpublishableError and changes no file then: runs with fewer
// rounds than the scenario's file requires, with uncommitted changes, or older than the published
// run. This prevents the selection of the best of several runs.
func Publish(limits *gate.Baselines, run, reportsDir string) ([]string, error) {
	switch resultFile(run) {
	case result.ComparisonFile:
		return publishComparison(run, reportsDir)
	case result.SoakFile:
		return publishSoak(run, reportsDir)
	case result.SerialFile:
		return publishSerial(run, reportsDir)
	}
	return publishRun(limits, run, reportsDir)
}

func publishRun(limits *gate.Baselines, run, reportsDir string) ([]string, error) {
	r, _, err := result.Read(run) // before publishing, check that the run can be read
	if err != nil {
		return nil, fmt.Errorf("publish: %w", err)
	}
	data := DataFolder(reportsDir, r.Scenario)
	reasons, err := unpublishable(limits, run, data)
	if err != nil {
		return nil, fmt.Errorf("publish: %w", err)
	}
	if len(reasons) > 0 {
		return nil, &UnpublishableError{Of: run, Reasons: reasons}
	}
	if err := keepEarlier(data, r.Run); err != nil {
		return nil, fmt.Errorf("publish: %w", err)
	}
	if err := copyPacked(run, data, []string{result.HistogramsFile}); err != nil {
		return nil, fmt.Errorf("publish: %w", err)
	}
	if err := publishProfiles(r, run, data); err != nil {
		return nil, fmt.Errorf("publish: %w", err)
	}
	stalls.KeepShown(r)
	keepShownCounters(r)
	if err := result.WriteResultPacked(filepath.Join(data, result.ResultFile), r); err != nil {
		return nil, fmt.Errorf("publish: %w", err)
	}
	return Render(limits, data, PagesFolder(reportsDir))
}

// publishCopy copies files of a measurement other than a run to the published data of that name,
// and renders the page from the copy. It refuses a measurement for the given reasons.
func publishCopy(dir, reportsDir, name string, files, reasons []string) ([]string, error) {
	if len(reasons) > 0 {
		return nil, &UnpublishableError{Of: dir, Reasons: reasons}
	}
	data := filepath.Join(reportsDir, dataDir, name)
	if err := copyPacked(dir, data, files); err != nil {
		return nil, fmt.Errorf("publish: %w", err)
	}
	return Render(nil, data, PagesFolder(reportsDir))
}

// keepShownCounters removes the counters of servers that no page and no verdict reads. The run's
// own folder has them all.
func keepShownCounters(r *result.Result) {
	for _, rounds := range [][]result.Round{r.Rounds, r.Repeated} {
		for i := range rounds {
			maps.DeleteFunc(rounds[i].Server, func(name string, _ float64) bool { return !gate.ReadsCounter(name) })
			for n := range rounds[i].Nodes {
				rounds[i].Nodes[n].Server = nil
			}
		}
	}
}

// unpublishable returns why the run in a folder must not replace the one in the folder data. It
// reads the run again, because a judged result must not be stored.
func unpublishable(limits *gate.Baselines, run, data string) ([]string, error) {
	s, err := Open(limits, run)
	if err != nil {
		return nil, err
	}
	reasons := s.Run.Manifest.Unpublishable()
	if why := incomplete(s.Run); why != "" {
		reasons = append(reasons, why)
	}
	published, err := result.ReadResult(filepath.Join(data, result.ResultFile))
	if errors.Is(err, fs.ErrNotExist) {
		return reasons, nil
	}
	if err == nil && s.Run.Started.Before(published.Started) {
		reasons = append(reasons, fmt.Sprintf("it started at %s, before the published run %s", s.Run.Started.UTC().Format(time.DateTime), published.Run))
	}
	return reasons, err
}

// UnpublishableError reports why a run or a comparison is not published.
type UnpublishableError struct {
	Of      string // its folder
	Reasons []string
}

func (e *UnpublishableError) Error() string {
	return fmt.Sprintf("publish: %s cannot be published: %s: publish the latest complete run of a commit, with all rounds of the scenario", e.Of, strings.Join(e.Reasons, "; "))
}
