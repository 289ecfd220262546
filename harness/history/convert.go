package history

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// Commit contains the date and the tag of a measured commit. Both are zero if the repository does
// not contain the commit.
type Commit struct {
	Committed time.Time
	Tag       string // the newest tag on the commit or its ancestors
}

// DroppedError is the reason why a result has no record.
type DroppedError struct{ Reason string }

func (e *DroppedError) Error() string { return "no record: " + e.Reason }

// FromResult returns the records of a result: one record, or for a sweep the records of its first
// and last point. A record lacks CPU time and counts per cycle that were not recorded over the
// whole window. The package comment documents the rules. The error is a *DroppedError if the result
// has no record by those rules.
func FromResult(r *result.Result, of Commit) (records []Record, err error) {
	if err := recordable(r); err != nil {
		return nil, err
	}
	perCycle := coversWindow(r)
	for _, point := range headlinePoints(r) {
		record := Record{
			Version: Version, Scenario: r.Scenario, Point: point.Name, Run: r.Run, Measured: r.Started.UTC().Truncate(time.Second),
			Commit: r.Manifest.Build.Commit, Committed: of.Committed.UTC(), Tag: of.Tag,
			HostClass: r.Manifest.Host.Class(), CPUModel: r.Manifest.Host.CPUModel, Verdict: r.Verdict,
			Metrics: headlines(point.Metrics, perCycle), References: referencesOf(r, point),
		}
		if r.Verdict == result.Incorrect {
			record.Metrics, record.References = map[string]Figure{}, nil
		}
		record.Durability, record.Settings = conditions(r, point)
		for i := range r.Rounds {
			if round := &r.Rounds[i]; round.Timed() && round.Point == point.Number {
				record.Rounds++
			}
		}
		if len(record.Metrics) == 0 && r.Verdict != result.Incorrect {
			continue
		}
		if err := record.check(); err != nil {
			return nil, &DroppedError{err.Error()}
		}
		records = append(records, record)
	}
	if len(records) == 0 {
		return nil, &DroppedError{"it has no headline figure"}
	}
	return records, nil
}

func recordable(r *result.Result) error {
	top := r.Manifest.Scenario.Topology
	reasons := r.Manifest.Unpublishable()
	switch {
	case r.Verdict == result.Invalid || r.Verdict == result.Misconfigured:
		return &DroppedError{fmt.Sprintf("its verdict is %s, so its figures are not valid", r.Verdict)}
	case len(reasons) > 0:
		return &DroppedError{strings.Join(reasons, "; ")}
	case top.Kind == "":
		return &DroppedError{"its scenario was not recorded, so it cannot be compared"}
	case top.Kind == scenario.Remote:
		return &DroppedError{"its servers were not on the generator's host, whose class is the only one known"}
	case top.Kind == scenario.ByProgram:
		return &DroppedError{"its servers are other products, which no commit changes"}
	}
	return nil
}

// coversWindow reports whether the CPU time and the counters of all timed rounds were recorded over
// the whole window.
func coversWindow(r *result.Result) bool {
	return !slices.ContainsFunc(r.Rounds, func(round result.Round) bool { return round.Timed() && len(round.Covered) == 0 })
}

// headlinePoints returns the points of a result that have records: the first and the last of a
// sweep, or without a sweep a single point without a name.
func headlinePoints(r *result.Result) []result.Point {
	switch n := len(r.Points); n {
	case 0:
		return []result.Point{{Metrics: r.Metrics}}
	case 1:
		return r.Points
	default:
		return []result.Point{r.Points[0], r.Points[n-1]}
	}
}

// headlines returns the headline figures among metrics, including those per cycle if they are
// valid.
func headlines(all map[string]result.Metric, perCycle bool) map[string]Figure {
	found := map[string]Figure{}
	for _, name := range metrics {
		m, has := all[name]
		if has && m.N > 0 && (perCycle || !strings.HasSuffix(name, "_per_cycle")) {
			found[name] = figureOf(m)
		}
	}
	return found
}

// referencesOf returns the references of a point. It includes the bare data path only if its
// conditions match those of the point.
func referencesOf(r *result.Result, point result.Point) map[string]Reference {
	var all map[string]Reference
	bare := r.Bare(point)
	for i := range r.References {
		of := &r.References[i]
		if of.Name == scenario.ReferenceBare && of != bare {
			continue
		}
		if all == nil {
			all = map[string]Reference{}
		}
		all[of.Name] = Reference{figureOf(of.PerS), figureOf(of.CPUUs), optional(of.ServerCPUUs), optional(of.ClientCPUUs)}
	}
	return all
}

func optional(m *result.Metric) *Figure {
	if m == nil {
		return nil
	}
	return new(figureOf(*m))
}

func conditions(r *result.Result, point result.Point) (durability, settings string) {
	s := &r.Manifest.Scenario
	if len(point.Values) == 0 {
		return r.Manifest.Durability(), s.Configuration()
	}
	values := point.Swept()
	durability = r.Manifest.Durability()
	if at, known := s.At(values); known && at.Topology.Durability != "" {
		durability = at.Topology.Durability
	}
	return durability, s.ConfigurationAt(values)
}

// Dropped returns the reason of a DroppedError, or "" for other errors.
func Dropped(err error) string {
	var dropped *DroppedError
	if errors.As(err, &dropped) {
		return dropped.Reason
	}
	return ""
}
