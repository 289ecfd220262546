package result

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pronybench/prony/harness/render"
)

// ReadStored is like Read, but it also reads a run that did not finish. The result of such a run
// contains the stored rounds and their metrics. Its verdict is invalid or worse, and its first
// reason states the number of rounds.
func ReadStored(dir string) (*Result, []RoundHistograms, error) {
	if Incomplete(dir) {
		return readIncomplete(dir)
	}
	return Read(dir)
}

// Incomplete reports whether a folder contains a run that did not finish: it contains rounds but no
// result.
func Incomplete(dir string) bool {
	exists := func(name string) bool { _, err := os.Stat(filepath.Join(dir, name)); return err == nil }
	finished, err := Exists(dir, ResultFile)
	return !finished && err == nil && exists(ManifestFile) && exists(RoundsFile)
}

// NewestIncomplete returns the folder of the latest run in out that did not finish and is not being
// measured now, or "".
func NewestIncomplete(out string) (string, error) {
	entries, err := os.ReadDir(out) // sorted by name, which begins with the time
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("look for runs: %w", err)
	}
	for _, entry := range slices.Backward(entries) {
		if dir := filepath.Join(out, entry.Name()); entry.IsDir() && Incomplete(dir) && !beingMeasured(dir) {
			return dir, nil
		}
	}
	return "", nil
}

func readIncomplete(dir string) (*Result, []RoundHistograms, error) {
	path := filepath.Join(dir, ManifestFile)
	data, err := readFile(path)
	if err != nil {
		return nil, nil, err
	}
	r := &Result{Version: Version, Run: filepath.Base(dir)}
	if err := json.Unmarshal(data, &r.Manifest); err != nil {
		return nil, nil, fmt.Errorf("read %s: corrupt: %w", path, err)
	}
	path = filepath.Join(dir, RoundsFile)
	var doc RoundsDocument
	if err := readJSON(path, only(Version), &doc); err != nil {
		return nil, nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, fmt.Errorf("read %s: %w", path, err)
	}
	s := &r.Manifest.Scenario
	r.Scenario, r.Title, r.Rounds = s.Name, s.Title, doc.Rounds
	r.Started, r.Finished = startOf(r.Run, info.ModTime()), info.ModTime()
	hists, err := histogramsSoFar(dir, r.Rounds)
	if err != nil {
		return nil, nil, err
	}
	r.judgeIncomplete(doc.Planned)
	r.summariseIncomplete(doc.Points, hists)
	return r, hists, nil
}

// startOf returns the start time in a run's id. It returns the argument otherwise if the id
// contains no time, for example because it is the name of an arm.
func startOf(id string, otherwise time.Time) time.Time {
	begin, _, _ := strings.Cut(id, "-")
	if started, err := time.Parse(idTime, begin); err == nil {
		return started
	}
	return otherwise
}

// histogramsSoFar reads the histograms of the given rounds. It drops the histograms of a last round
// that was not stored.
func histogramsSoFar(dir string, rounds []Round) ([]RoundHistograms, error) {
	hists, err := readHistograms(filepath.Join(dir, HistogramsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(hists, func(h RoundHistograms) bool {
		return !slices.ContainsFunc(rounds, func(r Round) bool { return r.Number == h.Round })
	}), nil
}

// judgeIncomplete sets the verdict. It is invalid, because the missing rounds may differ from the
// stored ones, or incorrect if a stored round lost tasks.
func (r *Result) judgeIncomplete(planned int) {
	r.Verdict = Invalid
	stored := render.Plural(len(r.Rounds), "round")
	if planned > 0 {
		stored = fmt.Sprintf("%d of %s", len(r.Rounds), render.Plural(planned, "round"))
	}
	r.Reasons = []string{fmt.Sprintf("the run did not finish: it stored %s", stored)}
	for i := range r.Rounds {
		round := &r.Rounds[i]
		r.Verdict = Worst(r.Verdict, round.Verdict)
		for _, reason := range round.Reasons {
			r.Reasons = append(r.Reasons, fmt.Sprintf("round %d: %s", round.Number, reason))
		}
	}
}

// summariseIncomplete sets the metrics from the stored rounds. It ignores errors, which name
// missing metrics, because the verdict is invalid anyway.
func (r *Result) summariseIncomplete(points []Point, hists []RoundHistograms) {
	if len(points) == 0 {
		r.Metrics, _ = Summarise(r.Rounds, hists)
		return
	}
	r.Metrics = SummariseLedger(r.Rounds)
	for _, p := range points {
		rounds := slices.DeleteFunc(slices.Clone(r.Rounds), func(round Round) bool { return round.Point != p.Number })
		if len(rounds) > 0 {
			p.Metrics, _ = Summarise(rounds, hists)
			r.Points = append(r.Points, p)
		}
	}
}
