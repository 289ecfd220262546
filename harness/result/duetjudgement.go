package result

import "github.com/pronybench/prony/harness/scenario"

// DuetJudgement says how a duet was judged, and under what conditions it was measured.
type DuetJudgement struct {
	Look  int `json:"look"`  // from 1: how often the duet was judged
	Looks int `json:"looks"` // after the last one the verdict stands
	// Decided says that measuring on would not change the verdict, or must not.
	Decided bool `json:"decided"`
	// Alpha is the false-alarm rate that this look may use, over all primaries, and AlphaAll that of all looks together.
	Alpha    float64 `json:"alpha"`
	AlphaAll float64 `json:"alpha_all"`
	// Confidence is that of the upper bound of each loss.
	Confidence float64 `json:"confidence"`

	Measured   int     `json:"measured"` // generations, those included that do not count
	Seconds    float64 `json:"seconds"`  // the time that they took
	Durability string  `json:"durability,omitempty"`
	Together   bool    `json:"together,omitempty"` // both sides had load at the same time
	// CPUs are the two sets that the sides had by turns; see Duet.
	CPUs       []SideCPUs `json:"cpus,omitempty"`
	SliceMs    float64    `json:"slice_ms,omitempty"`
	OpenPerS   float64    `json:"open_per_s,omitempty"` // arrivals a second of the open-loop phase; 0 without one
	Layouts    int        `json:"layouts,omitempty"`    // that the linker made of each side's server
	OwnClients bool       `json:"own_clients"`          // each side's generator has the client of that side; otherwise both have the harness's

	// Settings are those of the scenario that differ from their defaults or have none.
	Settings []scenario.Setting `json:"settings,omitempty"`
	// ServerSettings are those of the servers that differ from their defaults or between the sides, and the limits of the Go runtime.
	ServerSettings []SidesSetting `json:"server_settings,omitempty"`

	// Shown are figures that no verdict depends on.
	Shown []DuetFigure `json:"shown,omitempty"`
	// Marks name disturbed slices, and Invalid says of each generation that does not count why not.
	Marks   []string `json:"marks,omitempty"`
	Invalid []string `json:"invalid,omitempty"`
}

// DuetFigure is a figure of both sides that is shown and not judged.
type DuetFigure struct {
	Name   string  `json:"name"` // for a person
	Unit   string  `json:"unit"`
	Base   float64 `json:"base"`
	Change float64 `json:"change"`
}

// Loss is by how much the change is worse than the base in one primary of a duet, as a part of 1. A loss of 0.05 is 5 % more CPU
// time or latency, or 5 % fewer cycles a second; a negative one is a gain.
type Loss struct {
	Estimate float64 `json:"estimate"` // the geometric mean over generations, of a latency the trimmed one
	// Low is the one-sided lower bound of confidence 1 - Level, where Level is what Holm's procedure gives to this primary at this
	// look. The primary regressed if Low exceeds the least loss.
	Low   float64 `json:"low"`
	Level float64 `json:"level"`
	// High is the one-sided upper bound of the judgement's Confidence. The primary passes if High is below Margin.
	High   float64 `json:"high"`
	Margin float64 `json:"margin"`
	StdErr float64 `json:"std_err"` // of the mean logarithm
	// Generations are the ratios of the change to the base, and Numbers the numbers of their generations. Without them only Margin is
	// known: a side has no such figure.
	Generations []float64 `json:"generations,omitempty"`
	Numbers     []int     `json:"numbers,omitempty"`
}
