package scenario

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// The kinds of arrivals.
const (
	Closed = "closed" // each producer sends its next call when the last one was answered
	Open   = "rate"   // tasks are due at a rate, whatever becomes of those before them
	Ramp   = "ramp"   // at a rate that grows or falls evenly
	Burst  = "burst"  // at a rate, and every so often at another one for a while
	None   = "none"   // nothing is sent: the workers wait
)

const (
	rateMin = 1           // arrivals per second
	rateMax = 100_000_000 // more than any server takes: a zero too many
	// ofPeakMax is the largest multiple of a peak: an overload of as much shows all that one of more does.
	ofPeakMax = 10

	peak = "peak"
)

var arrivalsType = cty.Capsule("a pattern of arrivals", reflect.TypeFor[Arrivals]())

var arrivalsFunctions = hclfile.Functions{
	Built: map[string]function.Function{
		"closed": function.New(constant(Arrivals{Kind: Closed})),
		"none":   function.New(constant(Arrivals{Kind: None})),
		"rate": function.New(&function.Spec{
			Params: []function.Parameter{{Name: "rate", Type: cty.DynamicPseudoType, AllowMarked: true}},
			Type:   function.StaticReturnType(arrivalsType),
			Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
				rate, fault := readRate(args[0])
				if fault != nil {
					return cty.NilVal, fault
				}
				return cty.CapsuleVal(arrivalsType, &Arrivals{Kind: Open, Rate: rate}), nil
			},
		}),
	},
	NotBuilt: []string{"ramp", "burst"},
	Scales:   []string{peak},
}

// constant makes a function without parameters.
func constant(a Arrivals) *function.Spec {
	return &function.Spec{
		Type: function.StaticReturnType(arrivalsType),
		Impl: func([]cty.Value, cty.Type) (cty.Value, error) { return cty.CapsuleVal(arrivalsType, &a), nil },
	}
}

// readArrivals reads arrivals = closed(), none() or rate(...). After a problem the kind is not known.
func readArrivals(b *hclfile.Block) Arrivals {
	v, ok := b.Call("arrivals", arrivalsFunctions, `closed() or rate("50k/s")`)
	switch {
	case !b.Has("arrivals"):
		return Arrivals{Kind: Closed}
	case !ok:
		return Arrivals{}
	}
	return *v.EncapsulatedValue().(*Arrivals)
}

const rateUnits = `a rate is a string as in "50k/s", "800/s" or "1.5M/s", or a part of the measured peak as in 0.5 * peak`

// readRate reads "50k/s", or 0.5 * peak, which comes as a number marked with the scale.
func readRate(v cty.Value) (Rate, *hclfile.Fault) {
	v, marks := v.Unmark()
	_, ofPeak := marks[hclfile.Scale(peak)]
	switch {
	case ofPeak:
		part, _ := v.AsBigFloat().Float64()
		if part <= 0 || part > ofPeakMax {
			return Rate{}, &hclfile.Fault{Message: fmt.Sprintf("the rate is %v times the peak; it must be above 0 and at most %d times", part, ofPeakMax)}
		}
		return Rate{OfPeak: part}, nil
	case v.IsNull() || v.Type() != cty.String:
		return Rate{}, &hclfile.Fault{Message: "a rate must be a string, not " + hclfile.TypeName(v), Remedy: rateUnits}
	}
	perSecond, ok := parseRate(v.AsString())
	if !ok {
		return Rate{}, &hclfile.Fault{Message: fmt.Sprintf("%.40q is not a rate", v.AsString()), Remedy: rateUnits}
	}
	if perSecond < rateMin || perSecond > rateMax {
		return Rate{}, &hclfile.Fault{Message: fmt.Sprintf("the rate is %.40q; it must be from 1/s to 100M/s", v.AsString())}
	}
	return Rate{PerSecond: perSecond}, nil
}

// parseRate reads "800/s", "50k/s" or "1.5M/s".
func parseRate(s string) (perSecond float64, ok bool) {
	digits, perSecondUnit := strings.CutSuffix(s, "/s")
	if !perSecondUnit {
		return 0, false
	}
	scale := 1.0
	for suffix, by := range map[string]float64{"k": 1e3, "M": 1e6} {
		if rest, found := strings.CutSuffix(digits, suffix); found {
			digits, scale = rest, by
			break
		}
	}
	if digits == "" || strings.Trim(digits, "0123456789.") != "" {
		return 0, false
	}
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil || math.IsInf(n, 0) {
		return 0, false
	}
	return n * scale, true
}

// FormatRate writes arrivals per second as scenarios do: "800/s", "50k/s", "1.5M/s".
func FormatRate(perSecond float64) string {
	switch {
	case perSecond >= 1e6:
		return strconv.FormatFloat(perSecond/1e6, 'g', 6, 64) + "M/s"
	case perSecond >= 1e3:
		return strconv.FormatFloat(perSecond/1e3, 'g', 6, 64) + "k/s"
	}
	return strconv.FormatFloat(perSecond, 'g', 6, 64) + "/s"
}

// String writes the arrivals as a scenario does.
func (a Arrivals) String() string {
	switch a.Kind {
	case Open:
		return fmt.Sprintf("rate(%s)", a.Rate)
	case Ramp:
		return fmt.Sprintf("ramp(%s, %s, %q)", a.Rate, a.To, hclfile.FormatDuration(a.Over))
	case Burst:
		return fmt.Sprintf("burst(%s, %s, %q, %q)", a.Rate, a.To, hclfile.FormatDuration(a.Every), hclfile.FormatDuration(a.Over))
	}
	return a.Kind + "()"
}

// String writes the rate as a scenario does.
func (r Rate) String() string {
	if r.OfPeak > 0 {
		return fmt.Sprintf("%v * peak", r.OfPeak)
	}
	return strconv.Quote(FormatRate(r.PerSecond))
}
