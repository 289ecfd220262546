package load

import (
	"math"
	"math/rand/v2"
	"sort"

	"github.com/pronybench/prony/harness/scenario"
)

// newDraw returns the random source for a producer's sizes and queues. The same seed and producer
// number give the same source.
func newDraw(w scenario.Workload, producer int) *rand.Rand {
	return rand.New(rand.NewPCG(uint64(w.Seed), uint64(producer)))
}

// z99 is the 99th percentile of the standard normal distribution.
const z99 = 2.3263478740408408

// sizes is a distribution of payload sizes in bytes.
type sizes struct {
	scenario.Payload
	sigma float64 // lognormal only: the standard deviation of the logarithm of the size
}

func newSizes(p scenario.Payload) sizes {
	s := sizes{Payload: p}
	if p.Kind == "lognormal" {
		s.sigma = math.Log(float64(p.P99)/float64(p.Median)) / z99
	}
	return s
}

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

// keys chooses the queue of each call among the queues of a tenant. The zero value makes no choice:
// calls then cycle through the producer's destinations.
type keys struct {
	upTo []float64 // cumulative shares of the queues; the last is 1
}

// newKeys returns the queue distribution of a workload. Queue k has a share in proportion to
// 1/(k+1)^skew; a skew of 0 is the uniform distribution.
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

func (k *keys) chosen() bool { return len(k.upTo) > 0 }

func (k *keys) draw(from *rand.Rand) int {
	x := from.Float64()
	return min(sort.Search(len(k.upTo), func(i int) bool { return k.upTo[i] > x }), len(k.upTo)-1)
}
