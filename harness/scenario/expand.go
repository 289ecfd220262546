package scenario

import (
	"path/filepath"
	"slices"
	"time"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// expanded is the JSON form of a scenario for a run's manifest: every default filled in, durations as strings
// such as "2s", lists never null.
type expanded struct {
	Name      string             `json:"name"`
	Title     string             `json:"title"`
	Tags      []string           `json:"tags"`
	File      string             `json:"file"`
	Rounds    int                `json:"rounds"`
	Profiled  int                `json:"profiled_rounds,omitempty"`
	Variables []expandedVariable `json:"variables,omitempty"`
	Topology  expandedTopology   `json:"topology"`
	// Workload is the only one, or Workloads are several.
	Workload   *expandedWorkload  `json:"workload,omitempty"`
	Workloads  []expandedWorkload `json:"workloads,omitempty"`
	Phases     expandedPhases     `json:"phases"`
	Backlog    *expandedBacklog   `json:"backlog,omitempty"`
	Series     *expandedSeries    `json:"series,omitempty"`
	Sweeps     []expandedSweep    `json:"sweeps,omitempty"`
	Captures   []expandedCapture  `json:"captures"`
	Invariants []string           `json:"invariants"`
	Validity   map[string]any     `json:"validity"`
	Faults     []expandedFault    `json:"faults,omitempty"`
	Attack     *expandedAttack    `json:"attack,omitempty"`
	Scripts    []expandedScript   `json:"scripts,omitempty"` // where several are swept
}

type expandedVariable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Given bool   `json:"given,omitempty"` // on the command line
}

type expandedTopology struct {
	Kind         string `json:"kind"`
	Nodes        int    `json:"nodes,omitempty"`
	Shards       int    `json:"shards"`
	Durability   string `json:"durability"`
	SyncInterval string `json:"sync_interval,omitempty"`
	Listen       string `json:"listen"`
	Procs        int    `json:"procs,omitempty"`
	BusyPoll     bool   `json:"busy_poll,omitempty"`
	Coalesce     *bool  `json:"coalesce,omitempty"` // of "raft"
}

type expandedWorkload struct {
	Name        string           `json:"name"`
	Driver      string           `json:"driver"`
	Script      string           `json:"script,omitempty"` // of "k6": its path
	ScriptSum   string           `json:"script_sha256,omitempty"`
	Procs       int              `json:"procs,omitempty"`
	BusyPoll    bool             `json:"busy_poll,omitempty"`
	Connections int              `json:"connections,omitempty"` // not of "k6", whose script opens its own
	Tenants     int              `json:"tenants"`
	Queues      int              `json:"queues"`
	Producers   int              `json:"producers"`
	Workers     int              `json:"workers"`
	Batch       int              `json:"batch"`
	Payload     expandedPayload  `json:"payload"`
	Keys        *expandedKeys    `json:"keys,omitempty"`
	Seed        int              `json:"seed,omitempty"`
	Arrivals    expandedArrivals `json:"arrivals"`
	InFlight    int              `json:"in_flight,omitempty"`
	Lease       string           `json:"lease"`
	Idempotent  bool             `json:"idempotent,omitempty"`
}

type expandedScript struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
}

type expandedPayload struct {
	Kind     string `json:"kind"`
	BytesMin int    `json:"bytes_min"`
	BytesMax int    `json:"bytes_max"`

	BytesMedian int `json:"bytes_median,omitempty"`
	BytesP99    int `json:"bytes_p99,omitempty"`
}

// expandedKeys is left out where calls go to the queues in turn.
type expandedKeys struct {
	Kind string  `json:"kind"`
	Skew float64 `json:"skew,omitempty"`
}

type expandedArrivals struct {
	Kind      string  `json:"kind"`
	PerSecond float64 `json:"per_second,omitempty"`
	OfPeak    float64 `json:"of_peak,omitempty"`

	ToPerSecond float64 `json:"to_per_second,omitempty"`
	ToOfPeak    float64 `json:"to_of_peak,omitempty"`
	Over        string  `json:"over,omitempty"`
	Every       string  `json:"every,omitempty"`
}

type expandedBacklog struct {
	Tasks     int    `json:"tasks"`
	Reference int    `json:"reference,omitempty"`
	Restart   string `json:"restart"`
	Fill      string `json:"fill"`
	Drain     string `json:"drain"`
}

type expandedSeries struct {
	Every string `json:"every"`
}

type expandedFault struct {
	Kind      string `json:"kind"`
	Target    string `json:"target"`
	At        string `json:"at"`
	For       string `json:"for"`
	Every     string `json:"every,omitempty"`
	Times     int    `json:"times"`
	Direction string `json:"direction,omitempty"`
	How       string `json:"how,omitempty"`
	Delay     string `json:"delay,omitempty"`
	Jitter    string `json:"jitter,omitempty"`
	Rate      string `json:"rate,omitempty"`
}

type expandedAttack struct {
	Kinds   []string `json:"kinds"`
	Clients int      `json:"clients"` // of each kind
}

type expandedSweep struct {
	Path   string   `json:"path"`
	Values []string `json:"values"`
}

type expandedPhases struct {
	Warmup    string `json:"warmup"`
	WarmupMax string `json:"warmup_max,omitempty"`
	Window    string `json:"window"`
	Drain     string `json:"drain"`
}

type expandedCapture struct {
	Kind string `json:"kind"`
	// Rate is a fraction for mutex, a duration for block, and absent for the other kinds.
	Rate any `json:"rate,omitempty"`
	// CycleLatency is the ceiling that a trace is taken at.
	CycleLatency string `json:"cycle_latency,omitempty"`
}

// Expand returns s in a form that encoding/json writes readably: lower_snake_case names, every default filled
// in, durations as strings such as "2s". It shares nothing with s.
func Expand(s *Scenario) any {
	e := expanded{
		Name:     s.Name,
		Title:    s.Title,
		Tags:     append([]string{}, s.Tags...),
		File:     s.File,
		Rounds:   s.Rounds,
		Profiled: s.Profiles(),
		Topology: expandedTopology{
			Kind:       s.Topology.Kind,
			Nodes:      s.Topology.Nodes,
			Shards:     s.Topology.Shards,
			Durability: s.Topology.Durability,
			Listen:     s.Topology.Listen,
			Procs:      s.Topology.Procs,
			BusyPoll:   s.Topology.BusyPoll,
		},
		Phases: expandedPhases{
			Warmup: hclfile.FormatDuration(s.Phases.Warmup),
			Window: hclfile.FormatDuration(s.Phases.Window),
			Drain:  hclfile.FormatDuration(s.Phases.Drain),
		},
		Captures:   []expandedCapture{},
		Invariants: []string{},
		Validity:   expandValidity(s.Validity),
	}
	for _, v := range s.Variables {
		e.Variables = append(e.Variables, expandedVariable(v))
	}
	for _, w := range s.Workloads {
		e.Workloads = append(e.Workloads, expandWorkload(w))
	}
	if s.Phases.WarmupMax > 0 {
		e.Phases.WarmupMax = hclfile.FormatDuration(s.Phases.WarmupMax)
	}
	if len(e.Workloads) == 1 {
		e.Workload, e.Workloads = &e.Workloads[0], nil
	}
	if s.Topology.SyncInterval > 0 {
		e.Topology.SyncInterval = hclfile.FormatDuration(s.Topology.SyncInterval)
	}
	if s.Topology.Kind == Raft {
		e.Topology.Coalesce = new(!s.Topology.NoCoalesce)
	}
	if l := s.Backlog; l != nil {
		e.Backlog = &expandedBacklog{l.Tasks, l.Reference, l.Restart, hclfile.FormatDuration(l.Fill), hclfile.FormatDuration(l.Drain)}
	}
	if s.SeriesEvery > 0 {
		e.Series = &expandedSeries{hclfile.FormatDuration(s.SeriesEvery)}
	}
	for _, sweep := range s.Sweeps {
		e.Sweeps = append(e.Sweeps, expandedSweep{sweep.Path, append([]string{}, sweep.Values...)})
	}
	for _, c := range s.Captures {
		e.Captures = append(e.Captures, expandedCapture{c.Kind, rate(c), ceiling(c)})
	}
	for _, i := range s.Invariants {
		e.Invariants = append(e.Invariants, i.String())
	}
	for _, f := range s.Faults {
		e.Faults = append(e.Faults, expandFault(f))
	}
	if a := s.Attack; a != nil {
		e.Attack = &expandedAttack{Kinds: append([]string{}, a.Kinds...), Clients: a.Clients}
	}
	e.Scripts = expandScripts(s.Points)
	return e
}

// expandScripts lists the scripts that points have, unless it is one.
func expandScripts(points []Point) (all []expandedScript) {
	for _, p := range points {
		for _, w := range p.Workloads {
			of := expandedScript{filepath.ToSlash(w.Script.Path), w.Script.SHA256}
			if w.Driver == DriverK6 && !slices.Contains(all, of) {
				all = append(all, of)
			}
		}
	}
	if len(all) < 2 {
		return nil
	}
	return all
}

func expandWorkload(w Workload) expandedWorkload {
	e := expandedWorkload{
		Name:        w.Name,
		Driver:      w.Driver,
		Procs:       w.Procs,
		BusyPoll:    w.BusyPoll,
		Connections: w.Connections,
		Tenants:     w.Tenants,
		Queues:      w.Queues,
		Producers:   w.Producers,
		Workers:     w.Workers,
		Batch:       w.Batch,
		Payload:     expandedPayload{w.Payload.Kind, w.Payload.Min, w.Payload.Max, w.Payload.Median, w.Payload.P99},
		Arrivals: expandedArrivals{
			Kind: w.Arrivals.Kind, PerSecond: w.Arrivals.Rate.PerSecond, OfPeak: w.Arrivals.Rate.OfPeak,
			ToPerSecond: w.Arrivals.To.PerSecond, ToOfPeak: w.Arrivals.To.OfPeak,
		},
		InFlight:   w.InFlight,
		Lease:      hclfile.FormatDuration(w.Lease),
		Idempotent: w.Idempotent,
		Seed:       w.Seed,
	}
	if w.Driver == DriverK6 {
		e.Script, e.ScriptSum = filepath.ToSlash(w.Script.Path), w.Script.SHA256
	}
	if w.Arrivals.Over > 0 {
		e.Arrivals.Over = hclfile.FormatDuration(w.Arrivals.Over)
	}
	if w.Arrivals.Every > 0 {
		e.Arrivals.Every = hclfile.FormatDuration(w.Arrivals.Every)
	}
	if k := w.Keys.Kind; k != "" && k != "turn" {
		e.Keys = &expandedKeys{w.Keys.Kind, w.Keys.Skew}
	}
	return e
}

func expandFault(f Fault) expandedFault {
	e := expandedFault{
		Kind: f.Kind, Target: f.Target.String(), At: hclfile.FormatDuration(f.At), For: hclfile.FormatDuration(f.For),
		Times: f.Times, Direction: f.Direction, How: f.How,
	}
	for _, d := range []struct {
		into *string
		from time.Duration
	}{{&e.Every, f.Every}, {&e.Delay, f.Delay}, {&e.Jitter, f.Jitter}} {
		if d.from > 0 {
			*d.into = hclfile.FormatDuration(d.from)
		}
	}
	if f.BytesPerS > 0 {
		e.Rate = FormatByteRate(f.BytesPerS)
	}
	return e
}

func rate(c Capture) any {
	switch c.Kind {
	case "mutex":
		return c.MutexFraction
	case "block":
		return hclfile.FormatDuration(c.BlockRate)
	}
	return nil
}

func ceiling(c Capture) string {
	if c.Kind != captureTrace {
		return ""
	}
	return hclfile.FormatDuration(c.CycleLatency)
}
