package stat

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	gonum "gonum.org/v1/gonum/stat"
)

const (
	// DecayMinN is the number of values of a series below which FindDecay fails: the blocks would be too short to hold the
	// dependence of neighbouring values.
	DecayMinN = 60
	// DecayMaxN bounds the work of a bootstrap.
	DecayMaxN = 10_000
	// DecayBlocks is how many blocks make up a resampled series; see FindDecay.
	DecayBlocks = 10
)

// Decay is how much of a rate was lost over a run, in percent of the rate's mean. Below 0 the rate rose.
type Decay struct {
	Percent float64
	// Low and High are one-sided bounds of the true loss at Level each: the true loss is below Low with a probability of 5 %, and above
	// High with one of 5 %.
	Low, High float64
	Block     int // values of a block, of the longest series
}

// FindDecay returns the loss of a rate over series of rates that were measured at equal intervals: one series of each round, in the order of
// time. The loss of a series is the fall of its least-squares line from begin to end, divided by the mean of the series; the loss of several
// is their mean.
//
// Rates of neighbouring intervals depend on each other, since a neighbour of the host or a compaction lasts for several. The error of the loss
// is therefore that of a moving-block bootstrap (Künsch, The Annals of Statistics 17, 1989; Liu and Singh 1992) of the residuals of the line:
// blocks of consecutive residuals, which begin at random and may overlap, are put one after the other until the series is whole, and the loss
// is found again, Resamples times, from a generator with a constant seed. A block is a tenth of the series (DecayBlocks), a minute of ten:
// longer blocks keep more of the dependence, and fewer tell less of the error. The line has two parameters, so the blocks of its residuals have
// the variance of two blocks less, which is added, and the bounds take Student's t with eight degrees of freedom. Of 300 values with first-order
// autocorrelation, a bound is wrong in about 5 % of series up to a coefficient of 0.8 from one value to the next, and in 8 % at 0.9. With blocks
// of a sixtieth it was 14 and 23 %. A disturbance that lasts for longer than a block makes the bounds too narrow.
//
// FindDecay fails if there is no series, if one has fewer than DecayMinN or more than DecayMaxN values, if a value is negative, NaN or
// infinite, and if the mean of a series is 0.
func FindDecay(series ...[]float64) (Decay, error) {
	if len(series) == 0 {
		return Decay{}, fmt.Errorf("decay: %w", ErrNoValues)
	}
	var d Decay
	lines := make([]rateLine, len(series))
	for i, values := range series {
		line, err := fitRate(values)
		if err != nil {
			if len(series) > 1 {
				err = fmt.Errorf("series %d: %w", i+1, err)
			}
			return Decay{}, fmt.Errorf("decay: %w", err)
		}
		lines[i] = line
		d.Percent += line.loss() / float64(len(series))
		d.Block = max(d.Block, line.block())
	}
	random := rand.New(rand.NewPCG(bootstrapSeed, 0))
	errs := make([]float64, Resamples)
	for i := range errs {
		for _, line := range lines {
			errs[i] += line.resample(random) / float64(len(lines))
		}
	}
	const free = DecayBlocks - 2
	reach := student(len(lines)*free).Quantile(Level) * gonum.StdDev(errs, nil) * math.Sqrt(float64(DecayBlocks)/free)
	d.Low, d.High = d.Percent-reach, d.Percent+reach
	return d, nil
}

// rateLine is the least-squares line of a series of rates, and what the rates differ from it by.
type rateLine struct {
	mean      float64
	slope     float64 // for each value
	residuals []float64
}

func fitRate(values []float64) (rateLine, error) {
	n := len(values)
	if n < DecayMinN || n > DecayMaxN {
		return rateLine{}, fmt.Errorf("the series has %d values; it needs from %d to %d: sample more or less often, or for longer", n, DecayMinN, DecayMaxN)
	}
	if err := checkFinite("the series", values); err != nil {
		return rateLine{}, err
	}
	for i, v := range values {
		if v < 0 {
			return rateLine{}, fmt.Errorf("value %d of %d is %v: a rate is never below 0", i+1, n, v)
		}
	}
	line := rateLine{mean: gonum.Mean(values, nil), residuals: make([]float64, n)}
	if line.mean <= 0 || math.IsInf(line.mean, 0) {
		return rateLine{}, errors.New("the mean of the rates is not above 0 and finite, so no loss is a part of it")
	}
	line.slope = slopeOf(values)
	for i, v := range values {
		line.residuals[i] = v - line.mean - line.slope*(float64(i)-float64(n-1)/2)
	}
	return line, nil
}

// slopeOf returns the slope of the least-squares line of values at equal distances of 1.
func slopeOf(values []float64) float64 {
	middle := float64(len(values)-1) / 2
	product, squares := 0.0, 0.0
	for i, v := range values {
		from := float64(i) - middle
		product += from * v
		squares += from * from
	}
	return product / squares
}

// loss is the fall of the line over the series in percent of the mean.
func (l rateLine) loss() float64 {
	return -100 * l.slope * float64(len(l.residuals)) / l.mean
}

func (l rateLine) block() int { return (len(l.residuals) + DecayBlocks - 1) / DecayBlocks }

// resample returns the loss that a series of blocks of residuals has, which is due to chance.
func (l rateLine) resample(random *rand.Rand) float64 {
	n, block := len(l.residuals), l.block()
	drawn := make([]float64, 0, n+block)
	for len(drawn) < n {
		from := random.IntN(n - block + 1)
		drawn = append(drawn, l.residuals[from:from+block]...)
	}
	return -100 * slopeOf(drawn[:n]) * float64(n) / l.mean
}
