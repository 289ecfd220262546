package result

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/pronybench/prony/harness/scenario"
)

// Document is what `prony run --json` and `prony check --json` print: the outcome of all scenarios. `prony report --json`
// prints one of pages, and any command that fails before it has a document of its own prints one with the error.
type Document struct {
	Verdict   Verdict   `json:"verdict"` // the worst of the scenarios'; misconfigured where there is an error
	Scenarios []Outcome `json:"scenarios"`
	Pages     []Page    `json:"pages,omitempty"`
	Error     string    `json:"error,omitempty"` // what kept the command from its end
}

// Page is a page that was written.
type Page struct {
	Of    string   `json:"of"` // the folder of the run or the comparison, or the file of the experiments
	Page  string   `json:"page"`
	Files []string `json:"files"` // its plots
}

// Outcome is one scenario in a Document.
type Outcome struct {
	Name    string  `json:"name"`
	Verdict Verdict `json:"verdict"`
	// Run is the path of the run folder, or "" where there is none.
	Run string `json:"run,omitempty"`
	// Page is the path of the run's page, where one was written.
	Page       string `json:"page,omitempty"`
	Durability string `json:"durability,omitempty"`
	// Settings are those of the scenario that differ from their defaults or have none.
	Settings []scenario.Setting `json:"settings,omitempty"`
	// Servers is what the servers said that they run with, and Host is the host of the harness, with its virtualisation and container; nil if there
	// is no run. Hosts are those of servers on other hosts.
	Servers []ServerSettings `json:"servers,omitempty"`
	Host    *Host            `json:"host,omitempty"`
	Hosts   []ServerHost     `json:"hosts,omitempty"`
	// Polling says which side's connections polled before their thread slept; "" if neither did.
	Polling string `json:"polling,omitempty"`
	// FewerRounds says by how much the run has fewer rounds than its scenario's file wants; "" if it has as many.
	FewerRounds string `json:"fewer_rounds,omitempty"`
	// TimedRoundsProfiled are the numbers of the timed rounds in whose windows the servers were profiled: their figures are no measure of a
	// server that is not.
	TimedRoundsProfiled []int             `json:"timed_rounds_profiled,omitempty"`
	Reasons             []string          `json:"reasons,omitempty"`
	Warnings            []string          `json:"warnings,omitempty"`
	Metrics             map[string]Metric `json:"metrics"`
	References          []Reference       `json:"references,omitempty"` // what the host was worth in the run
	// Limits are those that the run was judged by; empty where it was not.
	Limits []JudgedLimit `json:"limits,omitempty"`
	// Points are those of a sweep.
	Points []Point `json:"points,omitempty"`
	// Workloads are those of a scenario with several.
	Workloads []Workload `json:"workloads,omitempty"`
}

// JudgedLimit is a floor or a ceiling and what a run measured there.
type JudgedLimit struct {
	Metric     string         `json:"metric"`
	Point      string         `json:"point,omitempty"`
	Workload   string         `json:"workload,omitempty"`
	Kind       string         `json:"kind"`                  // "floor" or "ceiling"
	Limit      float64        `json:"limit"`                 // in the metric's unit, or a ratio if OfBaseline is there
	OfBaseline *BaselineRatio `json:"of_baseline,omitempty"` // what the ratio is, of a limit on one
	Value      *float64       `json:"value"`                 // null if the run has none
	Margin     *float64       `json:"margin,omitempty"`      // relative distance from the limit; negative if it is violated
	Judged     bool           `json:"judged"`                // false where the ledger does not balance, and of a ratio without a baseline build
	OK         bool           `json:"ok"`                    // false if it was not judged
}

// BaselineRatio is a figure of the build under test as a share of the baseline build's, which was measured beside it in pairs.
type BaselineRatio struct {
	Commit string  `json:"commit"` // of the baseline build
	Base   float64 `json:"base"`   // the baseline build's figure: the median over pairs
	Ratio  float64 `json:"ratio"`  // the geometric mean of the pairs' ratios
	Low    float64 `json:"low"`    // Low and High are its 95 % interval
	High   float64 `json:"high"`
	Pairs  int     `json:"pairs"`
}

// NewOutcome returns the outcome of r, whose folder is at path run. Where the verdict is incorrect it publishes
// only the counts of tasks at fault: no other figure means anything then.
func NewOutcome(r *Result, run string) Outcome {
	return Outcome{
		Name: r.Scenario, Verdict: r.Verdict, Run: run, Durability: r.Manifest.Durability(),
		Settings: r.Manifest.Scenario.Settings(), Servers: r.Manifest.Servers, Host: &r.Manifest.Host, Hosts: r.Manifest.Hosts, Polling: r.Manifest.Polling(), FewerRounds: r.Manifest.FewerRounds(),
		TimedRoundsProfiled: r.TimedProfiled(),
		Reasons:             slices.Clone(r.Reasons), Warnings: slices.Clone(r.Warnings), Metrics: Published(r), References: r.References,
		Points: PublishedPoints(r), Workloads: PublishedWorkloads(r),
	}
}

// Published returns the metrics of r that may be shown: all of them, or where the verdict is incorrect only
// the counts of tasks at fault.
func Published(r *Result) map[string]Metric { return published(r.Verdict == Incorrect, r.Metrics) }

// PublishedPoints returns the points of r with the metrics that may be shown, likewise.
func PublishedPoints(r *Result) []Point {
	points := slices.Clone(r.Points)
	for i := range points {
		faulty := faultyPoint(r, points[i].Number)
		points[i].Metrics = published(faulty, points[i].Metrics)
		points[i].Workloads = publishedWorkloads(faulty, points[i].Workloads)
	}
	return points
}

// PublishedWorkloads returns the workloads of r with the metrics that may be shown, likewise.
func PublishedWorkloads(r *Result) []Workload {
	return publishedWorkloads(r.Verdict == Incorrect, r.Workloads)
}

// faultyPoint reports whether only counts of tasks at fault may be shown of a point. The points of one server's settings stand for each other: if one
// is incorrect, none has a figure. The servers of different targets have nothing to do with each other.
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

// NewDocument returns the document of these outcomes, in their order. Of none its verdict is misconfigured:
// what measured nothing has passed nothing.
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

// WriteJSON writes exactly one JSON document and a newline to w, in one call of Write. It writes nothing if a number is NaN or infinite.
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
