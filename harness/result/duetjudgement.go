package result

import "github.com/pronybench/prony/harness/scenario"

// DuetJudgement describes how a duet was judged and the conditions of its measurement.
type DuetJudgement struct {
	Look int `json:"look"` // number of judgements of the duet so far, from 1
	// Looks is the maximum number of judgements. The verdict after the last one is final.
	Looks int `json:"looks"`
	// Decided reports that the verdict is final: further measurements would not or must not change
	// it.
	Decided bool `json:"decided"`
	// Alpha is the false-alarm rate of this look over all primaries, and AlphaAll the false-alarm
	// rate of all looks together.
	Alpha    float64 `json:"alpha"`
	AlphaAll float64 `json:"alpha_all"`
	// Confidence is the confidence of the upper bound of each loss.
	Confidence float64 `json:"confidence"`

	Measured   int     `json:"measured"` // number of generations, including excluded ones
	Seconds    float64 `json:"seconds"`  // duration of the generations
	Durability string  `json:"durability,omitempty"`
	Together   bool    `json:"together,omitempty"` // both sides had load simultaneously
	// CPUs are the two sets that the sides used in turns; see Duet.
	CPUs    []SideCPUs `json:"cpus,omitempty"`
	SliceMs float64    `json:"slice_ms,omitempty"`
	// OpenPerS is the arrival rate per second of the open-loop phase; 0 without this phase.
	OpenPerS float64 `json:"open_per_s,omitempty"`
	// Layouts is the number of linker layouts of each side's server.
	Layouts int `json:"layouts,omitempty"`
	// OwnClients reports that each side's generator was built with the client package of that side;
	// otherwise both were built with the harness's.
	OwnClients bool `json:"own_clients"`

	// Settings are the scenario's settings that differ from their default or have no default.
	Settings []scenario.Setting `json:"settings,omitempty"`
	// ServerSettings are the servers' settings that differ from their defaults or between the
	// sides, and the limits of the Go runtime.
	ServerSettings []SidesSetting `json:"server_settings,omitempty"`

	// Shown are figures that are displayed but not judged.
	Shown []DuetFigure `json:"shown,omitempty"`
	// Marks name disturbed slices. Invalid contains the reasons for each excluded generation.
	Marks   []string `json:"marks,omitempty"`
	Invalid []string `json:"invalid,omitempty"`
}

// DuetFigure is a figure of both sides that is shown but not judged.
type DuetFigure struct {
	Name   string  `json:"name"` // display name
	Unit   string  `json:"unit"`
	Base   float64 `json:"base"`
	Change float64 `json:"change"`
}

// Loss is the relative loss of the change in one primary of a duet, as a fraction. A loss of 0.05
// is 5 % more CPU time or latency, or 5 % fewer cycles a second; a negative loss is a gain.
type Loss struct {
	Estimate float64 `json:"estimate"` // the geometric mean over generations, trimmed for a latency
	// Low is the one-sided lower bound with confidence 1 - Level, where Level is the level that
	// Holm's procedure assigns to this primary at this look. The primary regressed if Low exceeds
	// the least loss.
	Low   float64 `json:"low"`
	Level float64 `json:"level"`
	// High is the one-sided upper bound with the judgement's Confidence. The primary passes if High
	// is below Margin.
	High   float64 `json:"high"`
	Margin float64 `json:"margin"`
	StdErr float64 `json:"std_err"` // of the mean logarithm
	// Generations contains the ratio of the change to the base in each generation, and Numbers the
	// numbers of these generations. If a side lacks the figure, both are empty and only Margin is
	// set.
	Generations []float64 `json:"generations,omitempty"`
	Numbers     []int     `json:"numbers,omitempty"`
}
