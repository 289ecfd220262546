package stat

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	gonum "gonum.org/v1/gonum/stat"
)

const (
	// DriftMinN is the least number of values of a series for FindDrift. With fewer, the blocks
	// would be too short to preserve the dependence of neighbouring values.
	DriftMinN = 60
	// DriftMaxN bounds the work of a bootstrap.
	DriftMaxN = 10_000
	// DriftBlocks is the number of blocks in a resampled series; see FindDrift.
	DriftBlocks = 10
)

// Drift is the rise of a figure over a run, in percent of its mean, negative if the figure fell.
// Mean.Lower and Mean.Upper are the one-sided bounds of the true rise, and Mean.PAbove tests the
// hypothesis that the true rise is at most a limit.
type Drift struct {
	Mean
	Block int // values per block in the longest series
}

// FindDrift returns the drift of a figure over series of values that were measured at equal
// intervals, one series per round in the order of time. The drift of a series is the rise of its
// least-squares line from start to end, divided by the mean of the series; the drift of several
// series is their mean. A constant series, including one of zeros, has a drift of 0 without an
// error.
//
// Values of neighbouring intervals depend on each other, because a disturbance, such as other load
// on the host or a compaction, lasts for several intervals. The error of the drift is therefore
// estimated by a moving-block bootstrap (Künsch, The Annals of Statistics 17, 1989; Liu and Singh
// 1992) of the residuals of the line. It concatenates blocks of consecutive residuals, which start
// at random and may overlap, to the length of the series and computes the drift again. It repeats
// this Resamples times, with a generator of constant seed. A block is a tenth of the series
// (DriftBlocks), for example one minute of a ten-minute series: longer blocks preserve more of the
// dependence, but fewer blocks estimate the error worse. Fitting the two parameters of the line
// removes the variance of two blocks from the residuals. FindDrift adds that variance, and the
// bounds use Student's t with eight degrees of freedom. In tests with 300 values and first-order
// autocorrelation, a one-sided bound missed the true drift in about 5 % of the series for
// correlations of neighbours up to 0.8, and in 8 % at 0.9. With blocks of a sixtieth of the series,
// it missed it in 14 % and 23 %. A disturbance that lasts longer than a block makes the bounds too
// narrow.
//
// FindDrift fails if there is no series, or if a series has fewer than DriftMinN or more than
// DriftMaxN values. It also fails if a value is negative, NaN or infinite, or if the values of a
// series are too large for a finite mean.
func FindDrift(series ...[]float64) (Drift, error) {
	if len(series) == 0 {
		return Drift{}, ErrNoValues
	}
	const free = DriftBlocks - 2
	d := Drift{Mean: Mean{Degrees: len(series) * free}}
	lines := make([]fittedLine, len(series))
	for i, values := range series {
		line, err := fitLine(values)
		if err != nil {
			return Drift{}, ofSeries(err, i, len(series))
		}
		lines[i] = line
		d.Center += line.rise() / float64(len(series))
		d.Block = max(d.Block, line.block())
	}
	random := rand.New(rand.NewPCG(bootstrapSeed, 0))
	errs := make([]float64, Resamples)
	for i := range errs {
		for _, line := range lines {
			errs[i] += line.resample(random) / float64(len(lines))
		}
	}
	d.StdErr = gonum.StdDev(errs, nil) * math.Sqrt(float64(DriftBlocks)/free)
	return d, nil
}

func ofSeries(err error, i, of int) error {
	if of > 1 {
		return fmt.Errorf("series %d: %w", i+1, err)
	}
	return err
}

type fittedLine struct {
	mean      float64
	slope     float64 // per value
	residuals []float64
	// sums and weighted are prefix sums of the residuals, and of the residuals times their
	// positions.
	sums, weighted []float64
}

func fitLine(values []float64) (fittedLine, error) {
	n := len(values)
	if n < DriftMinN || n > DriftMaxN {
		return fittedLine{}, fmt.Errorf("the series has %d values; it needs from %d to %d: sample more or less often, or for longer", n, DriftMinN, DriftMaxN)
	}
	if err := checkFinite("the series", values); err != nil {
		return fittedLine{}, err
	}
	constant := true
	for i, v := range values {
		if v < 0 {
			return fittedLine{}, fmt.Errorf("value %d of %d is %v: such a figure is never below 0", i+1, n, v)
		}
		constant = constant && v == values[0]
	}
	line := fittedLine{mean: gonum.Mean(values, nil), residuals: make([]float64, n), sums: make([]float64, n+1), weighted: make([]float64, n+1)}
	if math.IsInf(line.mean, 0) {
		return fittedLine{}, errors.New("the mean of the values is not finite, so no relative change exists")
	}
	if constant { // rounding must not cause a drift
		return line, nil
	}
	line.slope = slopeOf(values)
	for i, v := range values {
		line.residuals[i] = v - line.mean - line.slope*(float64(i)-float64(n-1)/2)
		line.sums[i+1] = line.sums[i] + line.residuals[i]
		line.weighted[i+1] = line.weighted[i] + float64(i)*line.residuals[i]
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

func (l fittedLine) rise() float64 { return l.percent(l.slope) }

func (l fittedLine) percent(slope float64) float64 {
	if slope == 0 { // including values that are all 0
		return 0
	}
	return 100 * slope * float64(len(l.residuals)) / l.mean
}

func (l fittedLine) block() int { return (len(l.residuals) + DriftBlocks - 1) / DriftBlocks }

// resample returns the drift of a series of random blocks of residuals. This drift is caused by
// chance alone. It computes the slope from prefix sums without building the series: the slope needs
// each residual times the distance of its new position from the middle, and a block shifts all its
// residuals by the same distance.
func (l fittedLine) resample(random *rand.Rand) float64 {
	n, block := len(l.residuals), l.block()
	middle, product := float64(n-1)/2, 0.0
	for at := 0; at < n; at += block {
		from := random.IntN(n - block + 1)
		end := from + min(block, n-at)
		product += l.weighted[end] - l.weighted[from] + (float64(at-from)-middle)*(l.sums[end]-l.sums[from])
	}
	// Sum of the squared distances from the middle.
	squares := float64(n) * (float64(n)*float64(n) - 1) / 12
	return l.percent(product / squares)
}
