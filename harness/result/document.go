package result

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/pronybench/prony/harness/scenario"
)

// Document is the output of `prony run --json` and `prony check --json`: the outcome of all
// scenarios. `prony report --json` prints a document with Pages. A command that fails before it has
// a result prints a document with Error.
type Document struct {
	// Verdict is the worst verdict of the scenarios, or misconfigured if there is an error.
	Verdict   Verdict   `json:"verdict"`
	Scenarios []Outcome `json:"scenarios"`
	Pages     []Page    `json:"pages,omitempty"`
	Error     string    `json:"error,omitempty"` // why the command failed
}

// Page is a page that was written.
type Page struct {
	// Of is the source of the page: the folder of a run or comparison, or the file of the
	// experiments.
	Of    string   `json:"of"`
	Page  string   `json:"page"`
	Files []string `json:"files"` // its plots
}

// Outcome is one scenario in a Document.
type Outcome struct {
	Name    string  `json:"name"`
	Verdict Verdict `json:"verdict"`
	// Run is the path of the run folder, or "" without one.
	Run string `json:"run,omitempty"`
	// Page is the path of the run's page, or "" if none was written.
	Page       string `json:"page,omitempty"`
	Durability string `json:"durability,omitempty"`
	// Settings are the scenario's settings that differ from their default or have no default.
	Settings []scenario.Setting `json:"settings,omitempty"`
	// Servers contains the settings that the servers reported. Host is the host of the harness,
	// with its virtualisation and container; nil without a run. Hosts are the hosts of the servers;
	// empty if the servers run on Host.
	Servers []ServerSettings `json:"servers,omitempty"`
	Host    *Host            `json:"host,omitempty"`
	Hosts   []ServerHost     `json:"hosts,omitempty"`
	// Polling names the sides whose connections polled before their thread slept; "" if neither
	// did.
	Polling string `json:"polling,omitempty"`
	// FewerRounds states that the run has fewer rounds than its scenario's file requires; "" if it
	// has enough.
	FewerRounds string `json:"fewer_rounds,omitempty"`
	// TimedRoundsProfiled are the numbers of the timed rounds in whose windows the servers were
	// profiled. Their figures do not describe a server without profiling.
	TimedRoundsProfiled []int             `json:"timed_rounds_profiled,omitempty"`
	Reasons             []string          `json:"reasons,omitempty"`
	Warnings            []string          `json:"warnings,omitempty"`
	Metrics             map[string]Metric `json:"metrics"`
	// References measure the host's capacity during the run.
	References []Reference `json:"references,omitempty"`
	// Limits are the limits that the run was judged by; empty if it was not judged.
	Limits []JudgedLimit `json:"limits,omitempty"`
	// Points are the points of a sweep.
	Points []Point `json:"points,omitempty"`
	// Workloads are the workloads of a scenario with several.
	Workloads []Workload `json:"workloads,omitempty"`
}

// JudgedLimit is a floor or a ceiling with the value that a run measured.
type JudgedLimit struct {
	Metric   string `json:"metric"`
	Point    string `json:"point,omitempty"`
	Workload string `json:"workload,omitempty"`
	Kind     string `json:"kind"` // "floor" or "ceiling"
	// Limit is in the metric's unit, or a ratio if OfBaseline is set.
	Limit      float64        `json:"limit"`
	OfBaseline *BaselineRatio `json:"of_baseline,omitempty"` // the ratio, if Limit is one
	Value      *float64       `json:"value"`                 // null if not measured
	// Margin is the relative distance from the limit; negative if violated.
	Margin *float64 `json:"margin,omitempty"`
	// Judged is false if the ledger does not balance, or for a ratio without a baseline build.
	Judged bool `json:"judged"`
	OK     bool `json:"ok"` // false if not judged
}

// BaselineRatio is the ratio of a figure of the build under test to the same figure of the baseline
// build, from pairs of measurements.
type BaselineRatio struct {
	Commit string  `json:"commit"` // of the baseline build
	Base   float64 `json:"base"`   // the baseline build's figure, as the median over pairs
	Ratio  float64 `json:"ratio"`  // the geometric mean of the pairs' ratios
	Low    float64 `json:"low"`    // Low and High are its 95 % interval
	High   float64 `json:"high"`
	Pairs  int     `json:"pairs"`
}

// NewOutcome returns the outcome of r, which is stored in the folder run. If the verdict is
// incorrect, the outcome includes only the counts of tasks at fault, because all other figures are
// meaningless.
func NewOutcome(r *Result, run string) Outcome {
	return Outcome{
		Name: r.Scenario, Verdict: r.Verdict, Run: run, Durability: r.Manifest.Durability(),
		Settings: r.Manifest.Scenario.Settings(), Servers: r.Manifest.Servers, Host: &r.Manifest.Host, Hosts: r.Manifest.Hosts, Polling: r.Manifest.Polling(), FewerRounds: r.Manifest.FewerRounds(),
		TimedRoundsProfiled: r.TimedProfiled(),
		Reasons:             slices.Clone(r.Reasons), Warnings: slices.Clone(r.Warnings), Metrics: Published(r), References: r.References,
		Points: PublishedPoints(r), Workloads: PublishedWorkloads(r),
	}
}

// Published returns the metrics of r that may be shown: all of them, or, if the verdict is
// incorrect, only the counts of tasks at fault.
func Published(r *Result) map[string]Metric { return published(r.Verdict == Incorrect, r.Metrics) }

// PublishedPoints returns the points of r with the metrics that may be shown, as Published does.
func PublishedPoints(r *Result) []Point {
	points := slices.Clone(r.Points)
	for i := range points {
		faulty := faultyPoint(r, points[i].Number)
		points[i].Metrics = published(faulty, points[i].Metrics)
		points[i].Workloads = publishedWorkloads(faulty, points[i].Workloads)
	}
	return points
}

// PublishedWorkloads returns the workloads of r with the metrics that may be shown, as Published
// does.
func PublishedWorkloads(r *Result) []Workload {
	return publishedWorkloads(r.Verdict == Incorrect, r.Workloads)
}

// faultyPoint reports whether only counts of tasks at fault may be shown for a point. If one point
// of a server is incorrect, the figures of all its points are suspect, because the same server
// produced them. The targets of a driver program have separate servers, so for them only the
// incorrect points are faulty.
func faultyPoint(r *Result, point int) bool {
	if r.Verdict != Incorrect || r.Manifest.Scenario.Topology.Kind != scenario.ByProgram {
		return r.Verdict == Incorrect
	}
	return slices.ContainsFunc(r.Rounds, func(round Round) bool { return round.Point == point && round.Verdict == Incorrect })
}

func publishedWorkloads(faulty bool, all []Workload) []Workload {
	workloads := slices.Clone(all)
	for i := range workloads {
		workloads[i].Metrics = published(faulty, workloads[i].Metrics)
	}
	return workloads
}

func published(faulty bool, all map[string]Metric) map[string]Metric {
	metrics := make(map[string]Metric, len(all))
	maps.Copy(metrics, all)
	if faulty {
		maps.DeleteFunc(metrics, func(name string, _ Metric) bool {
			spec, known := Lookup(name)
			return !known || !spec.OfLedger()
		})
	}
	return metrics
}

// NewDocument returns the document of the given outcomes, in their order. Without outcomes its
// verdict is misconfigured, because nothing was measured.
func NewDocument(outcomes ...Outcome) *Document {
	doc := &Document{Verdict: Misconfigured, Scenarios: make([]Outcome, 0, len(outcomes))}
	verdicts := make([]Verdict, 0, len(outcomes))
	for _, o := range outcomes {
		if o.Metrics == nil {
			o.Metrics = map[string]Metric{}
		}
		doc.Scenarios = append(doc.Scenarios, o)
		verdicts = append(verdicts, o.Verdict)
	}
	if len(outcomes) > 0 {
		doc.Verdict = Worst(verdicts...)
	}
	return doc
}

// WriteJSON writes exactly one JSON document and a newline to w, in one call of Write. It writes
// nothing if a number is NaN or infinite.
func (d *Document) WriteJSON(w io.Writer) error { return writeJSON(w, "the document", d) }

func writeJSON(w io.Writer, what string, value any) error {
	data, err := encode(value)
	if err == nil {
		_, err = w.Write(data)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", what, err)
	}
	return nil
}
