package plots

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"

	"github.com/pronybench/prony/harness/render"
)

// FromZero sets an axis from zero to limit, with about five ticks up to last at round steps.
func FromZero(a *plot.Axis, limit, last float64) {
	a.Min, a.Max = 0, limit
	a.Tick.Marker = plot.ConstantTicks(Ticks(last))
}

// Ticks returns about five ticks of an axis from zero to limit at round steps.
func Ticks(limit float64) []plot.Tick {
	if limit <= 0 || math.IsInf(limit, 0) || math.IsNaN(limit) {
		return []plot.Tick{{Value: 0, Label: "0"}}
	}
	step := math.Pow(10, math.Floor(math.Log10(limit)))
	for _, fraction := range []float64{0.1, 0.2, 0.5, 1} {
		if limit/(step*fraction) <= 7 {
			step *= fraction
			break
		}
	}
	var ticks []plot.Tick
	for i := 0; float64(i)*step <= limit && i <= 10; i++ {
		ticks = append(ticks, plot.Tick{Value: float64(i) * step, Label: render.Digits(float64(i)*step, 3)})
	}
	return ticks
}

// LogTicks returns the ticks of a logarithmic axis from low to high, which must span at least a
// decade. Powers of ten are labelled, and in a short range also their multiples by 2 and 5; the
// other digits are minor ticks.
func LogTicks(low, high float64) []plot.Tick {
	first, last := int(math.Floor(math.Log10(low)+1e-9)), int(math.Ceil(math.Log10(high)-1e-9))
	var ticks []plot.Tick
	for exponent := first; exponent <= last; exponent++ {
		for digit := 1; digit <= 9; digit++ {
			v := float64(digit) * math.Pow(10, float64(exponent))
			if v < low*(1-1e-9) || v > high*(1+1e-9) {
				continue
			}
			tick := plot.Tick{Value: v}
			if digit == 1 || (last-first <= 3 && (digit == 2 || digit == 5)) {
				tick.Label = render.Digits(v, 3)
			}
			ticks = append(ticks, tick)
		}
	}
	return ticks
}

// Thin keeps at most limit labels of ticks, evenly spaced.
func Thin(ticks []plot.Tick, limit int) []plot.Tick {
	every := (len(ticks) + limit - 1) / limit
	for i := range ticks {
		if i%every != 0 {
			ticks[i].Label = ""
		}
	}
	return ticks
}

// RatioTicks marks round ratios, at most seven.
func RatioTicks(low, high float64) []plot.Tick {
	step := 0.5
	for _, s := range []float64{0.005, 0.01, 0.02, 0.05, 0.1, 0.2} {
		if (high-low)/s <= 7 {
			step = s
			break
		}
	}
	var ticks []plot.Tick
	for i := math.Ceil(low / step); i*step <= high && len(ticks) < 20; i++ {
		ticks = append(ticks, plot.Tick{Value: i * step, Label: fmt.Sprintf("%.3g", i*step)})
	}
	return ticks
}
