package scenario

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// Payload is a distribution of payload sizes, in bytes.
type Payload struct {
	Kind string `json:"kind"` // "fixed", "uniform" or "lognormal"
	// Min is the smallest payload; in a lognormal distribution, the size of the ledger's header.
	Min int `json:"bytes_min"`
	Max int `json:"bytes_max"` // largest payload; equal to Min if fixed
	// Median and P99 are the percentiles 50 and 99 of a lognormal distribution.
	Median int `json:"bytes_median,omitzero"`
	P99    int `json:"bytes_p99,omitzero"`
}

const (
	// payloadBytesMin is the size of the header by which the ledger recognises a task.
	payloadBytesMin = 32
	payloadBytesMax = 1 << 20
)

// defaultPayload is fixed(64).
var defaultPayload = Payload{Kind: "fixed", Min: 64, Max: 64}

var payloadType = cty.Capsule("a payload distribution", reflect.TypeFor[Payload]())

var payloadCalls = &hcl.EvalContext{
	Functions: map[string]function.Function{
		"fixed":   distribution("fixed", "bytes"),
		"uniform": distribution("uniform", "min", "max"),
		Lognormal: distribution(Lognormal, "median", "p99"),
	},
}

// Lognormal is the kind of payloads with a lognormal distribution of sizes: most are small, and a
// few are far larger.
const Lognormal = "lognormal"

func distribution(kind string, params ...string) function.Function {
	spec := &function.Spec{
		Type: function.StaticReturnType(payloadType),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			p := Payload{Kind: kind}
			for i, arg := range args {
				n, err := sizeBytes(arg)
				if err != nil {
					return cty.NilVal, err
				}
				if i == 0 {
					p.Min = n
				}
				p.Max = n
			}
			switch {
			case kind == Lognormal && p.Max <= p.Min:
				return cty.NilVal, &hclfile.ValueError{
					Message: fmt.Sprintf("lognormal has a 99th percentile of %d bytes, which is not above its median of %d", p.Max, p.Min),
					Remedy:  "write lognormal(median, p99), or fixed(bytes)",
				}
			case kind == Lognormal:
				p = lognormal(p.Min, p.Max)
			case p.Max < p.Min:
				return cty.NilVal, &hclfile.ValueError{
					Message: fmt.Sprintf("%s has a maximum of %d bytes below its minimum of %d", kind, p.Max, p.Min),
					Remedy:  fmt.Sprintf("write %s(%d, %d)", kind, p.Max, p.Min),
				}
			}
			return cty.CapsuleVal(payloadType, &p), nil
		},
	}
	for _, name := range params {
		spec.Params = append(spec.Params, function.Parameter{Name: name, Type: cty.DynamicPseudoType})
	}
	return function.New(spec)
}

// lognormal returns the distribution with the given median and 99th percentile. It is cut at
// p99²/median, where the distance of the logarithm from the median is twice that of the 99th
// percentile. About one in 600,000 sizes would be larger.
func lognormal(median, p99 int) Payload {
	end := int64(p99) * int64(p99) / int64(median)
	return Payload{Kind: Lognormal, Min: payloadBytesMin, Max: int(min(end, payloadBytesMax)), Median: median, P99: p99}
}

// String formats the payload in the syntax of scenarios.
func (p Payload) String() string {
	switch p.Kind {
	case "fixed":
		return fmt.Sprintf("fixed(%d)", p.Max)
	case Lognormal:
		return fmt.Sprintf("lognormal(%d, %d)", p.Median, p.P99)
	}
	return fmt.Sprintf("%s(%d, %d)", p.Kind, p.Min, p.Max)
}

// shown formats the payload for pages: like String, with the bounds of a lognormal distribution.
func (p Payload) shown() string {
	switch {
	case p.Kind == "":
		return ""
	case p.Kind == Lognormal:
		return fmt.Sprintf("%s, %d to %d", p, p.Min, p.Max)
	case p.Min == p.Max:
		return fmt.Sprintf("%s(%d)", p.Kind, p.Min)
	}
	return p.String()
}

func sizeBytes(v cty.Value) (int, error) { return sizeWithin(v, "payload", payloadBytesMax, "1MiB") }

// sizeWithin reads the size of a payload or a result, both of which begin with a header of the
// ledger: a whole number of bytes or a string with a unit, at most most bytes. what names the
// object in messages, and largest is most as text.
func sizeWithin(v cty.Value, what string, most int, largest string) (int, error) {
	const units = `a size is a number of bytes, or a string with B, KiB or MiB, as in 64, "64B", "4KiB" or "1MiB"`
	var bytes int
	whole := false
	switch v.Type() {
	case cty.Number:
		bytes, whole = hclfile.Whole(v)
	case cty.String:
		n, ok := payloadUnits.whole(v.AsString(), 32)
		if !ok {
			return 0, &hclfile.ValueError{Message: fmt.Sprintf("%.40q is not a size", v.AsString()), Remedy: units}
		}
		bytes, whole = int(n), true
	default:
		return 0, &hclfile.ValueError{Message: "a size must be a number or a string, not " + hclfile.TypeName(v), Remedy: units}
	}
	switch {
	case !whole:
		return 0, &hclfile.ValueError{Message: "a " + what + "'s size must be a whole number of bytes", Remedy: units}
	case bytes < payloadBytesMin:
		return 0, &hclfile.ValueError{
			Message: fmt.Sprintf("a %s of %d bytes is too small; the smallest is %d bytes", what, bytes, payloadBytesMin),
			Remedy:  fmt.Sprintf("the ledger needs %d bytes of each %s for its header", payloadBytesMin, what),
		}
	case bytes > most:
		return 0, &hclfile.ValueError{Message: fmt.Sprintf("a %s of %d bytes is too large; the largest is %s", what, bytes, largest)}
	}
	return bytes, nil
}

// ParseSize parses the size of a payload: a number of bytes without a unit, or a size in the syntax
// of scenarios, such as "4KiB".
func ParseSize(text string) (bytes int, err error) {
	if text != "" && strings.Trim(text, "0123456789") == "" {
		text += "B"
	}
	return sizeBytes(cty.StringVal(text))
}
