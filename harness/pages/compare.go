package pages

import (
	"fmt"
	"math"
	"strings"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/stat"
)

type quotient struct {
	result.Metric
	turns  bool // the ratio is the median over the turns of two points
	bounds bounds
}

// divided returns the ratio of two figures. If both are points of one run and all its rounds have
// the metric, it is the median of the ratios of interleaved rounds. Otherwise it is the ratio of
// the figures, with bounds from their intervals.
func divided(a, b *value) (quotient, error) {
	if !(a.Low > 0) || !(b.Low > 0) {
		return quotient{}, refuse("no ratio of %s and %s: both must be above 0", a.named(), b.named())
	}
	spec, _ := result.Lookup(a.metric)
	if a.of == b.of && a.of.run != nil && a.metric == b.metric && a.workload == "" && b.workload == "" && a.point.Number != b.point.Number && !spec.Merged() && !spec.OfLedger() {
		if m, err := result.TurnRatio(a.of.run.Rounds, a.metric, a.point.Number, b.point.Number); err == nil {
			q := quotient{Metric: m, turns: true, bounds: ci95}
			if m.N < stat.MinIntervalN {
				q.bounds = ranged
			}
			return q, nil
		}
	}
	q := quotient{Metric: result.Metric{Median: a.Median / b.Median, Low: a.Low / b.High, High: a.High / b.Low, N: min(a.N, b.N)}, bounds: ranged}
	if a.bounds() == ci95 && b.bounds() == ci95 {
		q.bounds = ci90
	}
	return q, nil
}

// claim is a comparison of two operands.
type claim struct {
	holds bool
	text  string // text of the comparison, with both operands
}

func operand(v any) (*value, error) {
	switch v := v.(type) {
	case *value:
		return v, nil
	case int:
		return number(float64(v)), nil
	case float64:
		return number(v), nil
	}
	return nil, refuse("%v is neither a figure nor a number: write (at \"SCENARIO\" \"METRIC\")", v)
}

func number(n float64) *value { return &value{Metric: result.Metric{Median: n, Low: n, High: n}} }

func (v *value) shown() string {
	if v.of == nil {
		return render.Digits(v.Median, 6)
	}
	return v.named()
}

func operands(a, b any) (*value, *value, error) {
	x, err := operand(a)
	if err != nil {
		return nil, nil, err
	}
	y, err := operand(b)
	if err != nil {
		return nil, nil, err
	}
	if x.of == nil && y.of == nil {
		return nil, nil, refuse("%s and %s are both numbers: compare a figure", x.shown(), y.shown())
	}
	return x, y, nil
}

// less claims that a is certainly less than b, by the ratio of the turns of two points, or because
// their intervals do not overlap.
func less(a, b any) (claim, error) {
	x, y, err := operands(a, b)
	if err != nil {
		return claim{}, err
	}
	c := claim{holds: x.High < y.Low, text: fmt.Sprintf("%s is certainly less than %s", x.shown(), y.shown())}
	if x.of != nil && y.of != nil && x.Low > 0 && y.Low > 0 {
		q, err := divided(x, y)
		if err != nil {
			return claim{}, err
		}
		if q.turns {
			c.holds = q.High < 1
			c.text += fmt.Sprintf(" (interleaved, the ratio is %s to %s)", render.Number(q.Low), render.Number(q.High))
		}
	}
	return c, nil
}

func greater(a, b any) (claim, error) { return less(b, a) }

func unclear(a, b any) (claim, error) {
	below, err := less(a, b)
	if err != nil {
		return claim{}, err
	}
	above, err := less(b, a)
	return claim{
		holds: !below.holds && !above.holds, text: strings.Replace(below.text, "is certainly less than", "cannot be distinguished from", 1),
	}, err
}

// within claims that the median of a differs from that of b by at most the given percentage of b's.
func within(a, b any, percent any) (claim, error) {
	x, y, err := operands(a, b)
	if err != nil {
		return claim{}, err
	}
	p, err := operand(percent)
	if err != nil || p.of != nil || p.Median < 0 {
		return claim{}, refuse("%v is not a percentage: within compares two figures, and its third argument is a number", percent)
	}
	return claim{
		holds: math.Abs(x.Median-y.Median) <= p.Median/100*math.Abs(y.Median),
		text:  fmt.Sprintf("%s is within %s %% of %s", x.shown(), render.Digits(p.Median, 3), y.shown()),
	}, nil
}

// silent is the output of holds. withoutSilent removes lines that consist of it.
const silent = "\x00"

// holds writes nothing. It fails if a comparison is false.
func holds(c claim) (string, error) {
	if !c.holds {
		return "", refuse("the data do not support that %s: change the sentence and its holds", c.text)
	}
	return silent, nil
}
