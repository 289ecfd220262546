package load

import (
	"math"
	"math/rand/v2"
	"sort"

	"github.com/pronybench/prony/harness/scenario"
)

// newDraw returns what a producer draws sizes and queues from: of the same workload's seed and producer, the same ones.
func newDraw(w scenario.Workload, producer int) *rand.Rand {
	return rand.New(rand.NewPCG(uint64(w.Seed), uint64(producer)))
}

// z99 is how many standard deviations above its mean the 99th percentile of a normal distribution is.
const z99 = 2.3263478740408408

// sizes is a distribution of payload sizes in bytes.
type sizes struct {
	scenario.Payload
	sigma float64 // of a lognormal one: the standard deviation of the size's logarithm
}

func newSizes(p scenario.Payload) sizes {
	s := sizes{Payload: p}
	if p.Kind == "lognormal" {
		s.sigma = math.Log(float64(p.P99)/float64(p.Median)) / z99
	}
	return s
}

// draw returns a size, at least Min and at most Max.
func (s *sizes) draw(from *rand.Rand) int {
	switch {
	case s.Max == s.Min:
		return s.Min
	case s.Kind == "lognormal":
		size := float64(s.Median) * math.Exp(s.sigma*from.NormFloat64())
		return int(math.Round(min(max(size, float64(s.Min)), float64(s.Max))))
	}
	return s.Min + from.IntN(s.Max-s.Min+1)
}

// keys chooses the queue of each call among those of a tenant. With the zero value calls cycle through the producer's
// destinations.
type keys struct {
	upTo []float64 // the shares of the queues up to and with each one; the last is 1
}

// newKeys returns how a workload chooses queues: queue k with a share in proportion to 1 / (k+1)^skew, which is the
// uniform choice for a skew of 0.
func newKeys(w scenario.Workload) keys {
	skew := 0.0
	switch w.Keys.Kind {
	case "zipf":
		skew = w.Keys.Skew
	case "uniform":
	default:
		return keys{}
	}
	k := keys{upTo: make([]float64, w.QueuesOfTenant())}
	sum := 0.0
	for i := range k.upTo {
		sum += math.Pow(float64(i+1), -skew)
		k.upTo[i] = sum
	}
	for i := range k.upTo {
		k.upTo[i] /= sum
	}
	return k
}

// chosen reports whether queues are chosen at random instead of in a cycle.
func (k *keys) chosen() bool { return len(k.upTo) > 0 }

// draw returns the number of a queue.
func (k *keys) draw(from *rand.Rand) int {
	x := from.Float64()
	return min(sort.Search(len(k.upTo), func(i int) bool { return k.upTo[i] > x }), len(k.upTo)-1)
}
