package scenario

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// Stage is a part of arrivals in which the rate changes linearly to To during Over. If Over is 0,
// the rate changes immediately.
type Stage struct {
	To   Rate          `json:"-"`
	Over time.Duration `json:"over"`
}

// MarshalJSON writes the duration as text, and the fields of the rate under the names of
// Arrivals.To.
func (s Stage) MarshalJSON() ([]byte, error) { return json.Marshal(s.stored()) }

// UnmarshalJSON reads what MarshalJSON writes.
func (s *Stage) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, s.stored()) }

func (s *Stage) stored() any {
	type to struct {
		PerSecond float64 `json:"to_per_second,omitzero"`
		OfPeak    float64 `json:"to_of_peak,omitzero"`
	}
	return &struct {
		*to
		Over *duration `json:"over"`
	}{(*to)(&s.To), (*duration)(&s.Over)}
}

const stagesMax = 100

const stagesUsage = `write the initial rate, and then for each stage its duration and the rate at its end, as in stages("1k/s", ["30s", "10k/s"], ["10s", "10k/s"])`

// stagesCall is the function stages(rate, [duration, rate]...).
var stagesCall = function.New(&function.Spec{
	Params:   []function.Parameter{{Name: "rate", Type: cty.DynamicPseudoType, AllowMarked: true}},
	VarParam: &function.Parameter{Name: "stage", Type: cty.DynamicPseudoType, AllowMarked: true},
	Type:     function.StaticReturnType(arrivalsType),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		a := Arrivals{Kind: Stages}
		var err error
		if a.Rate, err = readRateOrNone(args[0]); err != nil {
			return cty.NilVal, err
		}
		if n := len(args) - 1; n < 1 || n > stagesMax {
			return cty.NilVal, &hclfile.ValueError{Message: fmt.Sprintf("stages has %d stages; it must have from 1 to %d", n, stagesMax), Remedy: stagesUsage}
		}
		for i, arg := range args[1:] {
			stage, err := readStage(i+1, arg)
			if err != nil {
				return cty.NilVal, err
			}
			a.Stages = append(a.Stages, stage)
		}
		switch {
		case a.stagesTake() == 0:
			return cty.NilVal, &hclfile.ValueError{Message: "all stages take 0s, so the rate never changes", Remedy: fmt.Sprintf("write rate(%s)", a.Stages[len(a.Stages)-1].To)}
		case !a.sends():
			return cty.NilVal, &hclfile.ValueError{Message: "all rates of stages are 0/s, so no task is sent", Remedy: "raise one of them"}
		}
		return cty.CapsuleVal(arrivalsType, &a), nil
	},
})

func readStage(number int, v cty.Value) (Stage, error) {
	if v.IsMarked() || v.IsNull() || !v.Type().IsTupleType() || v.LengthInt() != 2 {
		return Stage{}, &hclfile.ValueError{Message: fmt.Sprintf("stage %d is not a list of a duration and a rate", number), Remedy: stagesUsage}
	}
	pair := v.AsValueSlice()
	var s Stage
	var err error
	if pair[0].IsMarked() || pair[0].IsNull() || pair[0].Type() != cty.String || pair[0].AsString() != "0s" {
		if s.Over, err = readLength(fmt.Sprintf("the duration of stage %d", number), pair[0]); err != nil {
			return Stage{}, err
		}
	}
	s.To, err = readRateOrNone(pair[1])
	return s, err
}

// readRateOrNone is readRate, but also accepts "0/s".
func readRateOrNone(v cty.Value) (Rate, error) {
	if !v.IsMarked() && !v.IsNull() && v.Type() == cty.String && v.AsString() == "0/s" {
		return Rate{}, nil
	}
	return readRate(v)
}

func (a Arrivals) stagesTake() (all time.Duration) {
	for _, s := range a.Stages {
		all += s.Over
	}
	return all
}

func (a Arrivals) sends() bool {
	some := a.Rate != Rate{}
	for _, s := range a.Stages {
		some = some || s.To != Rate{}
	}
	return some
}

func (a Arrivals) stagesText() string {
	var b strings.Builder
	fmt.Fprintf(&b, "stages(%s", a.Rate)
	for _, s := range a.Stages {
		fmt.Fprintf(&b, ", [%q, %s]", hclfile.FormatDuration(s.Over), s.To)
	}
	return b.String() + ")"
}

// stagesDue returns the number of tasks that become due in a window. All rates must be known.
func (a Arrivals) stagesDue(window time.Duration) (tasks float64) {
	rate := a.Rate.PerSecond
	for _, s := range a.Stages {
		over := min(s.Over, window)
		if s.Over == 0 {
			rate = s.To.PerSecond
			continue
		}
		reached := rate + (s.To.PerSecond-rate)*over.Seconds()/s.Over.Seconds()
		tasks += (rate + reached) / 2 * over.Seconds()
		rate, window = reached, window-over
	}
	return tasks + rate*window.Seconds()
}
