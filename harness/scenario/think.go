package scenario

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// Think is a distribution of the time between a worker's claim and the completion of its tasks. The
// zero value means no think time.
type Think struct {
	Kind string        `json:"kind"` // ThinkFixed, ThinkUniform, ThinkExponential, or "": none
	Min  time.Duration `json:"min"`  // the time of ThinkFixed; 0 of ThinkExponential
	Max  time.Duration `json:"max"`  // the longest time
	Mean time.Duration `json:"mean"` // of ThinkExponential
}

// The kinds of think times.
const (
	ThinkFixed       = "fixed"
	ThinkUniform     = "uniform"
	ThinkExponential = "exponential"
)

// thinkCutAt bounds an exponential time, as a multiple of the mean. About one in 22,000 times would
// be longer.
const thinkCutAt = 10

// MarshalJSON writes durations as text.
func (t Think) MarshalJSON() ([]byte, error) { return json.Marshal(t.stored()) }

// UnmarshalJSON reads what MarshalJSON writes.
func (t *Think) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, t.stored()) }

func (t *Think) stored() any {
	type plain Think
	return &struct {
		*plain
		Min  *duration `json:"min,omitzero"`
		Max  *duration `json:"max"`
		Mean *duration `json:"mean,omitzero"`
	}{(*plain)(t), (*duration)(&t.Min), (*duration)(&t.Max), (*duration)(&t.Mean)}
}

// Average returns the mean of the times. It ignores the bound thinkCutAt on exponential times,
// which affects about one in 22,000 times.
func (t Think) Average() time.Duration {
	if t.Kind == ThinkUniform {
		return (t.Min + t.Max) / 2
	}
	if t.Kind == ThinkExponential {
		return t.Mean
	}
	return t.Max
}

// String formats the think time in the syntax of scenarios.
func (t Think) String() string {
	switch t.Kind {
	case ThinkFixed:
		return fmt.Sprintf("fixed(%q)", hclfile.FormatDuration(t.Max))
	case ThinkUniform:
		return fmt.Sprintf("uniform(%q, %q)", hclfile.FormatDuration(t.Min), hclfile.FormatDuration(t.Max))
	case ThinkExponential:
		return fmt.Sprintf("exponential(%q)", hclfile.FormatDuration(t.Mean))
	}
	return "none"
}

var thinkType = cty.Capsule("a think time", reflect.TypeFor[Think]())

var thinkCalls = &hcl.EvalContext{Functions: map[string]function.Function{
	ThinkFixed:       thinkTime(ThinkFixed, "time"),
	ThinkUniform:     thinkTime(ThinkUniform, "min", "max"),
	ThinkExponential: thinkTime(ThinkExponential, "mean"),
}}

func thinkTime(kind string, params ...string) function.Function {
	spec := &function.Spec{
		Type: function.StaticReturnType(thinkType),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			t := Think{Kind: kind}
			for i, arg := range args {
				d, err := readLength(params[i], arg)
				if err != nil {
					return cty.NilVal, err
				}
				if i == 0 {
					t.Min = d
				}
				t.Max = d
			}
			switch {
			case kind == ThinkExponential:
				t = Think{Kind: kind, Mean: t.Max, Max: thinkCutAt * t.Max}
			case kind == ThinkUniform && t.Max <= t.Min:
				return cty.NilVal, &hclfile.ValueError{
					Message: fmt.Sprintf("uniform has a maximum of %s, which is not above its minimum of %s", hclfile.FormatDuration(t.Max), hclfile.FormatDuration(t.Min)),
					Remedy:  "write uniform(min, max), or fixed(time)",
				}
			}
			return cty.CapsuleVal(thinkType, &t), nil
		},
	}
	for _, name := range params {
		spec.Params = append(spec.Params, function.Parameter{Name: name, Type: cty.DynamicPseudoType})
	}
	return function.New(spec)
}

// checkThink checks think = fixed(time), uniform(min, max) or exponential(mean). The lease must be
// at least twice the longest time.
func checkThink(b *hclfile.Block, w *Workload) {
	switch {
	case w.Think.Kind == "":
	case w.Driver == DriverK6:
		b.AttrProblem("think", `the driver "k6" does not support think: the script decides when its workers complete tasks`, "remove it")
	case w.Workers == 0:
		b.AttrProblem("think", "think is not valid without workers", "remove it, or raise workers")
	case w.Lease > 0 && w.Think.Max > w.Lease/2:
		b.AttrProblem("think", fmt.Sprintf("think = %s takes up to %s, and a lease of %s must be at least twice as long", w.Think,
			hclfile.FormatDuration(w.Think.Max), hclfile.FormatDuration(w.Lease)), fmt.Sprintf("shorten it, or write lease = %q", hclfile.FormatDuration(2*w.Think.Max)))
	}
}
