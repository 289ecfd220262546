package history

import (
	"fmt"
	"slices"
	"time"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/stat"
)

// changeSeed seeds the shuffles of FindChangePoints, so that equal records have equal change points
// on every machine.
const changeSeed = 0x70726f6e79

// Track contains the values of one figure in all records of a series that have the figure.
type Track struct {
	Metric string `json:"metric"`
	Unit   string `json:"unit"`
	// RelativeTo is the reference that the figures are divided by; "" for absolute figures.
	RelativeTo string   `json:"relative_to,omitempty"`
	Samples    []Sample `json:"samples"` // in the order of the series
	// Older is the number of earlier samples that were omitted, because only the newest
	// stat.ChangeMaxN are used.
	Older   int      `json:"older,omitempty"`
	Changes []Change `json:"changes"`
	// TooFew reports that the samples are too few for change points; Changes is then empty.
	TooFew bool   `json:"too_few"`
	Drift  *Drift `json:"drift,omitempty"` // nil for a single sample
}

// Sample is the figure of one record. Low and High are its interval or range; for a ratio they are
// the extreme ratios that the two intervals allow.
type Sample struct {
	Commit   string    `json:"commit"`
	Measured time.Time `json:"measured"`
	Run      string    `json:"run"`
	Median   float64   `json:"median"`
	Low      float64   `json:"low"`
	High     float64   `json:"high"`
	tag      string
}

// Change is a change point between the commits of two consecutive samples.
type Change struct {
	At    int    `json:"at"`    // index of the first sample after the change
	After string `json:"after"` // the last commit before the change
	Until string `json:"until"` // the first commit with the change
	// Ratio is the ratio of the level after the change to the level before; nil if the level before
	// is 0.
	Ratio  *float64 `json:"ratio"`
	Before Level    `json:"level_before"`
	Now    Level    `json:"level_after"`
	P      float64  `json:"p"`
	// SpreadAlone reports that the spread changed but not the level: see stat.ChangePoint.
	SpreadAlone bool `json:"spread_alone"`
}

// Level is the median of the samples between two change points, with its 95 % interval for at least
// six samples and the range otherwise.
type Level struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	N      int     `json:"n"`
}

// Drift compares the newest sample (To) with an earlier one (From): the first sample that has the
// same tag as the sample before the newest. Without tags, From is the first sample of all.
type Drift struct {
	Tag   string   `json:"tag,omitempty"` // "" if From has none
	From  Sample   `json:"from"`
	To    Sample   `json:"to"`
	Ratio *float64 `json:"ratio"` // ratio of To to From; nil if From is 0
	// Apart reports that the two intervals do not overlap.
	Apart bool `json:"apart"`
}

// Tracked is a series with the tracks of all its figures.
type Tracked struct {
	Key
	Records int `json:"records"`
	// NotPass are the records whose verdict is not pass, in the order of the series.
	NotPass []Judged `json:"not_pass"`
	Tracks  []Track  `json:"tracks"` // empty if all records are of incorrect runs
}

// Judged is the verdict of one record.
type Judged struct {
	Commit   string         `json:"commit"`
	Measured time.Time      `json:"measured"`
	Run      string         `json:"run"`
	Verdict  result.Verdict `json:"verdict"`
}

func (s Series) notPass() []Judged {
	all := []Judged{}
	for _, r := range s.Records {
		if r.Verdict != result.Pass {
			all = append(all, Judged{r.Commit, r.Measured, r.Run, r.Verdict})
		}
	}
	return all
}

// TrackAll tracks the headline figures of each series. A figure with a comparable reference is also
// tracked as a ratio to that reference.
func TrackAll(all []Series) ([]Tracked, error) {
	tracked := []Tracked{}
	for _, s := range all {
		t := Tracked{Key: s.Key, Records: len(s.Records), NotPass: s.notPass(), Tracks: []Track{}}
		for _, metric := range metrics {
			for _, reference := range []string{"", s.reference(metric)} {
				if reference == "" && len(t.Tracks) > 0 && t.Tracks[len(t.Tracks)-1].Metric == metric {
					continue // no reference compares with the metric
				}
				track, err := s.Track(metric, reference)
				if err != nil {
					return nil, err
				}
				if len(track.Samples) > 0 {
					t.Tracks = append(t.Tracks, track)
				}
			}
		}
		tracked = append(tracked, t)
	}
	return tracked, nil
}

// reference returns the reference for a metric of the series, or "" without one. For CPU time it is
// the bare data path or the computation on one core; for rates it is the first name in
// scenario.ReferenceNames that a record contains and that is comparable with the metric.
func (s Series) reference(metric string) string {
	names := scenario.ReferenceNames()
	if spec, _ := result.Lookup(metric); spec.Unit != "1/s" {
		names = []string{scenario.ReferenceBare, scenario.ReferenceCPU}
	}
	for _, name := range names {
		_, comparable := (&result.Reference{Name: name}).ReferenceFigure(metric)
		if comparable && slices.ContainsFunc(s.Records, func(r Record) bool { _, has := r.References[name]; return has }) {
			return name
		}
	}
	return ""
}

// Track tracks a metric over the records that contain it. Unless reference is "", it tracks the
// ratio of the metric to that reference. If the statistics fail, the error names the series.
func (s Series) Track(metric, reference string) (Track, error) {
	spec, _ := result.Lookup(metric)
	t := Track{Metric: metric, Unit: spec.Unit, RelativeTo: reference, Samples: []Sample{}, Changes: []Change{}}
	if reference != "" {
		t.Unit = "ratio"
	}
	for _, r := range s.Records {
		if f, has := r.figure(metric, reference); has {
			t.Samples = append(t.Samples, Sample{r.Commit, r.Measured, r.Run, f.Median, f.Low, f.High, r.Tag})
		}
	}
	if t.Older = max(0, len(t.Samples)-stat.ChangeMaxN); t.Older > 0 {
		t.Samples = t.Samples[t.Older:]
	}
	t.Drift = drift(t.Samples)
	if t.TooFew = len(t.Samples) < stat.ChangeMinN; t.TooFew {
		return t, nil
	}
	values := make([]float64, len(t.Samples))
	for i, sample := range t.Samples {
		values[i] = sample.Median
	}
	found, err := stat.FindChangePoints(values, changeSeed)
	if err != nil {
		return Track{}, fmt.Errorf("%s of scenario %s %s: %w", metric, s.Scenario, s.Point, err)
	}
	for _, c := range found {
		t.Changes = append(t.Changes, Change{
			At: c.At, After: t.Samples[c.At-1].Commit, Until: t.Samples[c.At].Commit, Ratio: ratio(c.Before.Center, c.After.Center),
			Before: levelOf(c.Before), Now: levelOf(c.After), P: c.P, SpreadAlone: !c.OfLevel(),
		})
	}
	return t, nil
}

func levelOf(s stat.Summary) Level { return Level{s.Center, s.Low, s.High, s.N} }

// figure returns the figure of a metric, as a ratio to a reference unless reference is "". Both
// must have been measured.
func (r Record) figure(metric, reference string) (Figure, bool) {
	f, has := r.Metrics[metric]
	if !has || reference == "" {
		return f, has
	}
	of, has := r.References[reference]
	if !has {
		return Figure{}, false
	}
	stored := of.reference(reference)
	to, comparable := stored.ReferenceFigure(metric)
	if !comparable || !(to.Low > 0) {
		return Figure{}, false
	}
	return Figure{f.Median / to.Median, f.Low / to.High, f.High / to.Low}, true
}

// reference reverses the conversion of referencesOf.
func (r Reference) reference(name string) *result.Reference {
	of := &result.Reference{Name: name, PerS: r.PerS.metric(), CPUUs: r.CPUUs.metric()}
	if r.ServerCPUUs != nil && r.ClientCPUUs != nil {
		of.ServerCPUUs, of.ClientCPUUs = new(r.ServerCPUUs.metric()), new(r.ClientCPUUs.metric())
	}
	return of
}

func (f Figure) metric() result.Metric {
	return result.Metric{Median: f.Median, Low: f.Low, High: f.High}
}

// drift compares the newest sample with the first sample that has the same tag as the sample before
// the newest. It returns nil for fewer than two samples.
func drift(samples []Sample) *Drift {
	if len(samples) < 2 {
		return nil
	}
	newest, tag := samples[len(samples)-1], samples[len(samples)-2].tag
	first := samples[slices.IndexFunc(samples, func(s Sample) bool { return s.tag == tag })]
	return &Drift{
		Tag: tag, From: first, To: newest, Ratio: ratio(first.Median, newest.Median),
		Apart: newest.Low > first.High || newest.High < first.Low,
	}
}

func ratio(from, to float64) *float64 {
	if from == 0 {
		return nil
	}
	return new(to / from)
}
