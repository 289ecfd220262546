package scenario

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// Soak is a long measurement by `prony soak`, without restarts of the servers: consecutive windows
// until their total length reaches For.
type Soak struct {
	For time.Duration `json:"for"` // total length of the windows, without the drains between them
	// FaultsEvery is the distance between windows with the scenario's faults: 10 means window 10,
	// 20 and so on. It is 0 without faults.
	FaultsEvery int      `json:"faults_every,omitzero"`
	Keep        SoakKeep `json:"keep"`
	// DriftPercentMax bounds the deterioration of a figure over the soak, in percent of its value
	// at the start.
	DriftPercentMax float64 `json:"drift_percent_max"`
	// Drifts are bounds for specific figures, which override DriftPercentMax.
	Drifts []SoakDrift `json:"drift,omitempty"`
}

// SoakKeep bounds the stored results of old windows. The result of a window is deleted when it is
// older than Age, and the oldest results are deleted while their total size exceeds Bytes. The row
// of each window in the soak's table is never deleted.
type SoakKeep struct {
	Age   time.Duration `json:"age"`
	Bytes int64         `json:"size"`
}

// SoakDrift bounds the drift of one figure.
type SoakDrift struct {
	Figure     string  `json:"name"`        // one of SoakFigures
	PercentMax float64 `json:"percent_max"` // in percent of the figure's mean
	Because    string  `json:"because"`     // never empty
}

// The figures with a bound on their drift.
const (
	SoakRate       = "cycles_per_s"
	SoakLatency    = "cycle_latency_ms_p99"
	SoakServerCPU  = "server_cpu_us_per_cycle"
	SoakRSS        = "server_rss_mb"
	SoakFDs        = "server_fds"
	SoakGoroutines = "server_goroutines"
	SoakDisk       = "disk_mb"
	SoakHarnessRSS = "harness_rss_mb"
)

// SoakFigures are the names of the figures with a bound on their drift, in the order of pages.
var SoakFigures = []string{SoakRate, SoakLatency, SoakServerCPU, SoakRSS, SoakFDs, SoakGoroutines, SoakDisk, SoakHarnessRSS}

const (
	soakWindowLeast         = time.Second
	soakForMax              = 366 * 24 * time.Hour
	soakFaultsEveryMax      = 10_000
	soakKeepAgeDefault      = 7 * 24 * time.Hour
	soakKeepBytesDefault    = 1 << 30
	soakDriftPercentDefault = 2
)

// Drift returns the bound on the deterioration of a figure over the soak, in percent of its value
// at the start.
func (s Soak) Drift(figure string) float64 {
	for _, d := range s.Drifts {
		if d.Figure == figure {
			return d.PercentMax
		}
	}
	return s.DriftPercentMax
}

// HasFaults reports whether a window has the scenario's faults. The first window is number 1.
func (s Soak) HasFaults(window int) bool { return s.FaultsEvery > 0 && window%s.FaultsEvery == 0 }

// SoakWindows returns the number of windows of a soak of the given measured time. The last window
// is always a whole one.
func (s *Scenario) SoakWindows(measured time.Duration) int {
	return int((measured + s.Phases.Window - 1) / s.Phases.Window)
}

// SoakProblem returns an error if s is a soak, for commands that do not support one. what is the
// command.
func (s *Scenario) SoakProblem(what string) error {
	if s.Soak == nil {
		return nil
	}
	return fmt.Errorf("scenario %q of %s has a soak block, which %s does not support: use prony soak %s", s.Name, s.File, what, s.File)
}

// MarshalJSON writes durations as text.
func (s Soak) MarshalJSON() ([]byte, error) { return json.Marshal(s.stored()) }

// UnmarshalJSON reads what MarshalJSON writes.
func (s *Soak) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, s.stored()) }

func (s *Soak) stored() any {
	type plain Soak
	return &struct {
		*plain
		For *duration `json:"for"`
	}{(*plain)(s), (*duration)(&s.For)}
}

// MarshalJSON writes the age and the size as text.
func (k SoakKeep) MarshalJSON() ([]byte, error) { return json.Marshal(k.stored()) }

// UnmarshalJSON reads what MarshalJSON writes.
func (k *SoakKeep) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, k.stored()) }

func (k *SoakKeep) stored() any {
	return &struct {
		Age   *duration `json:"age"`
		Bytes *diskSize `json:"size"`
	}{(*duration)(&k.Age), (*diskSize)(&k.Bytes)}
}

var soakTable = table[Soak]{
	durationAttr(func(s *Soak) *time.Duration { return &s.For }, hclfile.DurationSpec{Min: soakWindowLeast, Max: soakForMax, Required: true}, attribute[Soak]{
		name: "for", label: "soak, measured time", value: func(s *Soak) string { return s.For.String() },
		doc: "{} of measured time: the windows, without the drains. The flag `--for` of `prony soak` overrides it",
	}),
	integer(func(s *Soak) *int { return &s.FaultsEvery }, hclfile.IntSpec{Min: 1, Max: soakFaultsEveryMax}, attribute[Soak]{
		name: "faults_every", label: "soak, faults in every n-th window", shownDefault: "required with a `fault`; not allowed without",
		doc: "{}: every n-th window has the faults of the scenario, whose times count from that window's start",
	}),
	{
		name: "drift_percent_max", shownDefault: fmt.Sprint(soakDriftPercentDefault),
		doc: "above 0: the maximum worsening of a figure from start to end, in percent of its start",
		read: func(b *hclfile.Block, s *Soak) {
			s.DriftPercentMax = soakDriftPercentDefault
			if percent, ok := b.Number("drift_percent_max", hclfile.NumberSpec{Example: "2"}); ok {
				s.DriftPercentMax = percent
			}
		},
	},
	{
		name: "keep", block: true, shownDefault: "168h and 1GiB",
		doc: "a block: the retention of results of single windows; the row of figures of each window is always kept. `age`, 1m to 8784h, and total `size`, `\"1MiB\"` to `\"16384GiB\"`. The oldest are deleted first",
	},
	{name: `drift "FIGURE"`, block: true, shownDefault: "`drift_percent_max`", doc: "a block: `percent_max` for one figure, and `because`"},
}

// Rows returns the rows of pages.
func (s *Soak) Rows() []Row { return soakTable.rows(s, "soak.") }

var (
	soakBlock = hclfile.Inner{
		Names:   hclfile.Names{Attributes: soakTable.names(), Blocks: []string{"keep", "drift"}},
		Example: `soak { for = "20m" }`, Once: true,
	}
	soakKeepBlock = hclfile.Inner{
		Names:   hclfile.Names{Attributes: []string{"age", "size"}},
		Example: `keep { age = "168h"  size = "1GiB" }`, Once: true,
	}
	soakDriftBlock = hclfile.Inner{
		Names: hclfile.Names{Attributes: []string{"percent_max", "because"}},
		Label: "figure", Example: `drift "disk_mb" { percent_max = 5  because = "..." }`,
	}
)

// readSoak reads soak { for faults_every drift_percent_max keep { } drift "FIGURE" { } }, or
// returns nil without such a block. The rest of s must be complete, except for the limits.
func readSoak(b *hclfile.Block, s *Scenario) *Soak {
	blocks := b.Blocks("soak", soakBlock)
	if len(blocks) == 0 {
		return nil
	}
	block := blocks[0]
	soak := &Soak{Keep: readSoakKeep(block)}
	soakTable.read(block, soak)
	soak.Drifts = readSoakDrifts(block)
	switch {
	case len(s.Faults) > 0 && !block.Has("faults_every"):
		block.Problem("the scenario has faults, but soak has no faults_every",
			"add faults_every = 10 for faults in every tenth window, or faults_every = 1 for faults in all windows")
	case len(s.Faults) == 0 && block.Has("faults_every"):
		block.AttrProblem("faults_every", "the scenario has no faults", "remove faults_every, or add a fault block to the scenario")
	}
	if window := s.Phases.Window; window > 0 && window < soakWindowLeast {
		block.Problem(fmt.Sprintf("the window of %s is too short for a soak", hclfile.FormatDuration(window)),
			fmt.Sprintf("write phases.window = %q or more", hclfile.FormatDuration(soakWindowLeast)))
	} else if soak.For > 0 && window > soak.For {
		block.AttrProblem("for", fmt.Sprintf("for is %s, which is less than one window of %s", hclfile.FormatDuration(soak.For), hclfile.FormatDuration(window)),
			"measure for longer, or shorten phases.window")
	}
	checkSoak(b, s)
	return soak
}

func checkSoak(b *hclfile.Block, s *Scenario) {
	for _, part := range []struct{ name, why string }{
		{"sweep", "the servers of a soak keep their settings"},
		{"zip", "the servers of a soak keep their settings"},
		{"backlog", "a soak has only windows"},
		{"series", "the windows of a soak are its series"},
		{"capture", "no window of a soak is profiled"},
		{"attack", "the windows of a soak have no hostile clients"},
		{"observe", "the windows of a soak are read at their ends only"},
		{"recurring", "the account of due times covers one round"},
		{"limit", "the bounds of a soak are those on the drift of its figures"},
	} {
		if b.HasBlock(part.name) {
			b.Problem(fmt.Sprintf("%s has a soak, which does not support %s: %s", b, part.name, part.why), "remove the "+part.name+", or the soak")
		}
	}
	if b.Has("rounds") {
		b.AttrProblem("rounds", "a soak has windows instead of rounds, and soak.for determines their number", "remove rounds")
	}
	if len(s.References) > 0 {
		b.AttrProblem("references", "a soak measures no references", "remove references")
	}
	if s.Topology.Kind == Embedded || s.Topology.Kind == NoTopology {
		b.Problem("a soak needs servers in separate processes", `write topology "single", "sharded" or "raft"`)
	}
	if Any(s.Workloads, func(w Workload) bool { return w.Arrivals.OfPeak() }) {
		b.Problem("a soak does not support rates that are multiples of the peak", `write a rate, as in arrivals = rate("2k/s")`)
	}
	if Any(s.Workloads, Workload.ReadsTasks) {
		b.Problem("a soak does not support reads: their account of tasks is lost when the process of the soak ends", "remove reads from the workload")
	}
	if Any(s.Workloads, func(w Workload) bool { return w.Driver == DriverK6 }) {
		b.Problem("a soak does not support k6: its account of tasks is lost when the k6 process ends", "use another driver, such as stream")
	}
}

func readSoakKeep(soak *hclfile.Block) SoakKeep {
	keep := SoakKeep{Age: soakKeepAgeDefault, Bytes: soakKeepBytesDefault}
	for _, b := range soak.Blocks("keep", soakKeepBlock) {
		keep.Age = b.Duration("age", hclfile.DurationSpec{Min: time.Minute, Max: soakForMax, Default: soakKeepAgeDefault})
		text := b.Text("size", hclfile.TextSpec{MaxBytes: 40, Example: "1GiB"})
		var size diskSize
		switch err := size.UnmarshalText([]byte(text)); {
		case text == "":
		case err != nil:
			b.AttrProblem("size", fmt.Sprintf("size is %q, which is not a disk size", text), `the units are MiB and GiB, as in "512MiB" or "10GiB"`)
		case size < 1<<20 || size > 1<<44:
			b.AttrProblem("size", fmt.Sprintf("size is %q; it must be from 1MiB to 16384GiB", text), "")
		default:
			keep.Bytes = int64(size)
		}
	}
	return keep
}

func readSoakDrifts(soak *hclfile.Block) (drifts []SoakDrift) {
	for _, b := range soak.Blocks("drift", soakDriftBlock) {
		d := SoakDrift{
			Figure:  b.Label(),
			Because: b.Text("because", hclfile.TextSpec{MaxBytes: 500, Required: true, Example: "why the bound is what it is"}),
		}
		d.PercentMax, _ = b.Number("percent_max", hclfile.NumberSpec{Example: "2"})
		if !b.Has("percent_max") {
			b.Problem(fmt.Sprintf("%s has no percent_max", b), "add percent_max = 5, for example")
		}
		if !slices.Contains(SoakFigures, d.Figure) {
			b.LabelProblem(fmt.Sprintf("a soak has no figure %.80q", d.Figure), hclfile.Suggest(d.Figure, SoakFigures))
		}
		if slices.ContainsFunc(drifts, func(other SoakDrift) bool { return other.Figure == d.Figure }) {
			b.LabelProblem(fmt.Sprintf("there are two drift blocks for %s", d.Figure), "keep one of the two")
		}
		drifts = append(drifts, d)
	}
	return drifts
}
