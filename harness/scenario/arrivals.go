package scenario

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// Rate is the number of tasks due per second: either PerSecond, or the multiple OfPeak of the
// measured peak. The other field is 0.
type Rate struct {
	PerSecond float64 `json:"per_second,omitzero"`
	OfPeak    float64 `json:"of_peak,omitzero"`
}

// Arrivals defines when producers send.
type Arrivals struct {
	Kind string `json:"kind"` // Closed, Open, Ramp, Burst, Stages or None
	// Rate is the rate of Open, the rate of Ramp and Stages at the window's start and in the
	// warm-up, and the rate of Burst between bursts.
	Rate Rate `json:"-"`
	// To is the rate of Ramp at its end, and the rate of Burst within a burst.
	To Rate `json:"-"`
	// Over is the length of a ramp, after which the rate stays constant, or of a burst. Every is
	// the time from the start of one burst to the start of the next. The first burst begins Every
	// minus Over after the window's start.
	Over  time.Duration `json:"over"`
	Every time.Duration `json:"every"`
	// Stages are the stages of the kind Stages, in order from the window's start. The rate of the
	// last one stays until the window ends.
	Stages []Stage `json:"stages,omitempty"`
}

// MarshalJSON writes durations as text, and the fields of the rates at the level of the arrivals.
func (a Arrivals) MarshalJSON() ([]byte, error) { return json.Marshal(a.stored()) }

// UnmarshalJSON reads what MarshalJSON writes.
func (a *Arrivals) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, a.stored()) }

func (a *Arrivals) stored() any {
	type plain Arrivals
	type rate Rate
	type to struct {
		PerSecond float64 `json:"to_per_second,omitzero"`
		OfPeak    float64 `json:"to_of_peak,omitzero"`
	}
	return &struct {
		*plain
		*rate
		*to
		Over  *duration `json:"over,omitzero"`
		Every *duration `json:"every,omitzero"`
	}{(*plain)(a), (*rate)(&a.Rate), (*to)(&a.To), (*duration)(&a.Over), (*duration)(&a.Every)}
}

// Timed reports whether the load is open: the due times of tasks do not depend on the outcome of
// earlier tasks.
func (a Arrivals) Timed() bool {
	return a.Kind == Open || a.Kind == Ramp || a.Kind == Burst || a.Kind == Stages
}

// Equal reports whether two loads send at the same times.
func (a Arrivals) Equal(other Arrivals) bool { return reflect.DeepEqual(a, other) }

// each returns a copy of the arrivals after it applied change to each rate.
func (a Arrivals) each(change func(*Rate)) Arrivals {
	change(&a.Rate)
	change(&a.To)
	a.Stages = slices.Clone(a.Stages)
	for i := range a.Stages {
		change(&a.Stages[i].To)
	}
	return a
}

// OfPeak reports whether any rate is a multiple of the measured peak.
func (a Arrivals) OfPeak() bool {
	return a.Rate.OfPeak > 0 || a.To.OfPeak > 0 || slices.ContainsFunc(a.Stages, func(s Stage) bool { return s.To.OfPeak > 0 })
}

// At returns the arrivals with each multiple of the peak replaced by a rate, for a peak in cycles
// per second.
func (a Arrivals) At(peak float64) Arrivals {
	return a.each(func(r *Rate) {
		if r.OfPeak > 0 {
			r.PerSecond = r.OfPeak * peak
		}
	})
}

// Share returns the arrivals with all rates multiplied by part, which is above 0 and at most 1.
func (a Arrivals) Share(part float64) Arrivals {
	return a.each(func(r *Rate) {
		r.PerSecond *= part
		r.OfPeak *= part
	})
}

// The kinds of arrivals.
const (
	Closed = "closed" // each producer sends its next call when the last one was answered
	Open   = "rate"   // tasks are due at a constant rate, independent of earlier tasks
	Ramp   = "ramp"   // at a rate that rises or falls linearly
	Burst  = "burst"  // at a base rate, and periodically at another rate
	Stages = "stages" // at a rate that changes linearly from value to value
	None   = "none"   // nothing is sent: the workers wait
)

const (
	rateMin = 1           // arrivals per second
	rateMax = 100_000_000 // more than any server can take, so a typing error
	// ofPeakMax is the largest multiple of a peak. A larger overload would show nothing more.
	ofPeakMax = 10

	peak = "peak"
)

var arrivalsType = cty.Capsule("a pattern of arrivals", reflect.TypeFor[Arrivals]())

// arrivalsCalls returns the functions and the variable that the attribute arrivals may use. The
// variable peak has the value of, with a mark that each number computed from the variable inherits.
func arrivalsCalls(of float64) *hcl.EvalContext {
	return &hcl.EvalContext{
		Variables: map[string]cty.Value{peak: cty.NumberFloatVal(of).Mark(peak)},
		Functions: map[string]function.Function{
			Closed: constant(arrivalsType, Arrivals{Kind: Closed}),
			None:   constant(arrivalsType, Arrivals{Kind: None}),
			Open:   timed(Open, []string{"rate"}, nil),
			Ramp:   timed(Ramp, []string{"from", "to"}, []string{"over"}),
			Burst:  timed(Burst, []string{"base", "rate"}, []string{"every", "length"}),
			Stages: stagesCall,
		},
	}
}

// timed makes the function of a kind of open load, whose parameters are first rates and then
// durations.
func timed(kind string, rates, durations []string) function.Function {
	spec := &function.Spec{
		Type: function.StaticReturnType(arrivalsType),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			a := Arrivals{Kind: kind}
			for i, into := range []*Rate{&a.Rate, &a.To}[:len(rates)] {
				rate, err := readRate(args[i])
				if err != nil {
					return cty.NilVal, err
				}
				*into = rate
			}
			into := []*time.Duration{&a.Every, &a.Over}[2-len(durations):]
			for i, d := range into {
				length, err := readLength(durations[i], args[len(rates)+i])
				if err != nil {
					return cty.NilVal, err
				}
				*d = length
			}
			if err := a.check(); err != nil {
				return cty.NilVal, err
			}
			return cty.CapsuleVal(arrivalsType, &a), nil
		},
	}
	for _, name := range slices.Concat(rates, durations) {
		spec.Params = append(spec.Params, function.Parameter{Name: name, Type: cty.DynamicPseudoType, AllowMarked: true})
	}
	return function.New(spec)
}

func (a Arrivals) check() error {
	below := a.To.PerSecond < a.Rate.PerSecond || a.To.OfPeak < a.Rate.OfPeak
	sameKind := (a.Rate.OfPeak > 0) == (a.To.OfPeak > 0)
	switch {
	case a.Kind != Open && a.Rate == a.To:
		return &hclfile.ValueError{Message: fmt.Sprintf("%s goes from %s to the same rate", a.Kind, a.Rate), Remedy: fmt.Sprintf("write rate(%s)", a.Rate)}
	case a.Kind == Burst && sameKind && below:
		return &hclfile.ValueError{Message: fmt.Sprintf("a burst of %s is below the rate of %s between bursts", a.To, a.Rate), Remedy: "the rate between bursts comes first"}
	case a.Kind == Burst && a.Over >= a.Every:
		return &hclfile.ValueError{
			Message: fmt.Sprintf("a burst of %s every %s leaves nothing in between", hclfile.FormatDuration(a.Over), hclfile.FormatDuration(a.Every)),
			Remedy:  "a burst's length is below the time from one to the next",
		}
	}
	return nil
}

// lengthLeast is the shortest ramp, burst, stage and think time. Anything shorter is about the
// length of a single call.
const lengthLeast = time.Millisecond

func readLength(name string, v cty.Value) (time.Duration, error) {
	const units = `a duration is a string with a unit, as in "2s", "250ms" or "1m30s"`
	if v.IsMarked() || v.Type() != cty.String {
		return 0, &hclfile.ValueError{Message: name + " must be a duration, not " + hclfile.TypeName(v), Remedy: units}
	}
	d, err := time.ParseDuration(v.AsString())
	switch {
	case err != nil:
		return 0, &hclfile.ValueError{Message: fmt.Sprintf("%.40q is not a duration", v.AsString()), Remedy: units}
	case d < lengthLeast || d > 24*time.Hour:
		return 0, &hclfile.ValueError{Message: fmt.Sprintf("%s is %.40q; it must be from %s to 24h", name, v.AsString(), hclfile.FormatDuration(lengthLeast))}
	}
	return d, nil
}

// checkArrivals notes a problem if the arrivals do not fit into the window. A window of 0 is
// unknown.
func checkArrivals(b *hclfile.Block, a Arrivals, window time.Duration) {
	if window == 0 {
		return
	}
	switch {
	case a.Kind == Stages && a.stagesTake() > window:
		b.AttrProblem("arrivals", fmt.Sprintf("stages of %s do not end in a window of %s", hclfile.FormatDuration(a.stagesTake()), hclfile.FormatDuration(window)),
			"shorten them, or lengthen the window")
	case a.Kind == Ramp && a.Over > window:
		b.AttrProblem("arrivals", fmt.Sprintf("a ramp of %s does not end in a window of %s", hclfile.FormatDuration(a.Over), hclfile.FormatDuration(window)),
			"shorten it, or lengthen the window")
	case a.Kind == Burst && a.Every > window:
		b.AttrProblem("arrivals", fmt.Sprintf("with a burst every %s, no burst ends in a window of %s", hclfile.FormatDuration(a.Every), hclfile.FormatDuration(window)),
			"let bursts come more often, or lengthen the window")
	}
}

// readArrivals reads arrivals = closed(), none(), rate(...), ramp(...), burst(...) or stages(...).
// After a problem the kind is "".
func readArrivals(b *hclfile.Block) Arrivals {
	if !b.Has("arrivals") {
		return Arrivals{Kind: Closed}
	}
	at := func(of float64) (a Arrivals, ok bool) {
		v, ok := b.Call("arrivals", arrivalsCalls(of), `closed() or rate("50k/s")`)
		if ok {
			a = *v.EncapsulatedValue().(*Arrivals)
		}
		return a, ok
	}
	a, ok := at(1)
	if !ok || !a.OfPeak() {
		return a
	}
	// A rate that is a plain multiple of the peak halves when the peak halves. Other expressions,
	// such as peak + 1, do not and are refused.
	if half, ok := at(0.5); ok && !half.each(func(r *Rate) { r.OfPeak *= 2 }).Equal(a) {
		b.AttrProblem("arrivals", "arrivals has a rate that is not a multiple of the peak", "a multiple is written as in 0.5 * peak")
		return Arrivals{}
	}
	return a
}

const rateUnits = `a rate is a string as in "50k/s", "800/s" or "1.5M/s", or a part of the measured peak as in 0.5 * peak`

// readRate reads "50k/s", or 0.5 * peak, which is a number with the mark of peak.
func readRate(v cty.Value) (Rate, error) {
	v, marks := v.Unmark()
	switch {
	case len(marks) > 0 && v.Type() == cty.Number:
		part, _ := v.AsBigFloat().Float64()
		if part <= 0 || part > ofPeakMax {
			return Rate{}, &hclfile.ValueError{Message: fmt.Sprintf("the rate is %v times the peak; it must be above 0 and at most %d times", part, ofPeakMax)}
		}
		return Rate{OfPeak: part}, nil
	case len(marks) > 0 || v.Type() != cty.String:
		return Rate{}, &hclfile.ValueError{Message: "a rate must be a string, not " + hclfile.TypeName(v), Remedy: rateUnits}
	}
	perSecond, ok := parseRate(v.AsString())
	if !ok {
		return Rate{}, &hclfile.ValueError{Message: fmt.Sprintf("%.40q is not a rate", v.AsString()), Remedy: rateUnits}
	}
	if perSecond < rateMin || perSecond > rateMax {
		return Rate{}, &hclfile.ValueError{Message: fmt.Sprintf("the rate is %.40q; it must be from 1/s to 100M/s", v.AsString())}
	}
	return Rate{PerSecond: perSecond}, nil
}

// ParseRate parses a rate of arrivals in the syntax of scenarios, such as "800/s" or "50k/s", and
// returns it per second.
func ParseRate(text string) (perSecond float64, err error) {
	r, err := readRate(cty.StringVal(text))
	return r.PerSecond, err
}

func parseRate(s string) (perSecond float64, ok bool) {
	digits, _, found := arrivalUnits.split(s)
	if !found || digits == "" || strings.Trim(digits, "0123456789.") != "" {
		return 0, false
	}
	perSecond, ok = arrivalUnits.number(s)
	return perSecond, ok && !math.IsInf(perSecond, 0)
}

// FormatRate writes arrivals per second as scenarios do: "800/s", "50k/s", "1.5M/s".
func FormatRate(perSecond float64) string { return arrivalUnits.format(perSecond) }

// String writes the arrivals as a scenario does.
func (a Arrivals) String() string {
	switch a.Kind {
	case Open:
		return fmt.Sprintf("rate(%s)", a.Rate)
	case Ramp:
		return fmt.Sprintf("ramp(%s, %s, %q)", a.Rate, a.To, hclfile.FormatDuration(a.Over))
	case Stages:
		return a.stagesText()
	case Burst:
		return fmt.Sprintf("burst(%s, %s, %q, %q)", a.Rate, a.To, hclfile.FormatDuration(a.Every), hclfile.FormatDuration(a.Over))
	}
	return a.Kind + "()"
}

// rows returns the rows of pages.
func (a Arrivals) rows() []Row {
	return []Row{
		{Label: "arrivals", Value: a.Kind},
		{Label: "arrivals per second", Value: unlessZero(a.Rate.PerSecond)},
		{Label: "arrivals, part of the peak", Value: unlessZero(a.Rate.OfPeak)},
		{Label: "then, per second", Value: unlessZero(a.To.PerSecond)},
		{Label: "then, part of the peak", Value: unlessZero(a.To.OfPeak)},
		{Label: "over", Value: unless(a.Over <= 0, "%s", hclfile.FormatDuration(a.Over))},
		{Label: "stages", Value: unless(a.Kind != Stages, "%s", a)},
		{Label: "each", Value: unless(a.Every <= 0, "%s", hclfile.FormatDuration(a.Every))},
	}
}

// String writes the rate as a scenario does.
func (r Rate) String() string {
	if r.OfPeak > 0 {
		return fmt.Sprintf("%v * peak", r.OfPeak)
	}
	return strconv.Quote(FormatRate(r.PerSecond))
}
