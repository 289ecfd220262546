package k6

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"
)

// samplesPerSDefault is how many samples a second a trend has at most, unless samplesEnv says
// otherwise: k6 keeps each one until the test's end, in several copies, and sorts them every two
// seconds.
const samplesPerSDefault = 100

// samplesEnv says how many samples a second a trend has at most; 0: as many as there are.
const samplesEnv = "PRONY_SAMPLES_PER_S"

// samplesPerS reads it.
func samplesPerS(lookup func(string) (string, bool)) (float64, error) {
	text, set := lookup(samplesEnv)
	if !set || text == "" {
		return samplesPerSDefault, nil
	}
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("prony: %s is %.40q: set it to a whole number of samples, or to 0 for all", samplesEnv, text)
	}
	return float64(n), nil
}

// thinning draws samples of a trend at random, so that there are about so many a second however
// many values there are, and their percentiles are about those of all. It is safe for concurrent
// use.
type thinning struct {
	perS float64 // 0: every value is a sample

	mu     sync.Mutex
	second int64   // since 1970, which is counted now
	seen   float64 // values in it so far
	part   float64 // of the values that are drawn, by the second before
	most   float64 // the largest value so far
}

// draws reports whether a value is to be a sample. The largest one so far always is.
func (t *thinning) draws(now time.Time, value float64) bool {
	if t.perS == 0 {
		return true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if second := now.Unix(); second != t.second {
		if t.part = 1; second == t.second+1 && t.seen > t.perS {
			t.part = t.perS / t.seen
		}
		t.second, t.seen = second, 0
	}
	t.seen++
	largest := value > t.most
	t.most = max(t.most, value)
	part := t.part
	if t.seen > t.perS { // more than the second before
		part = min(part, t.perS/t.seen)
	}
	return largest || part >= 1 || rand.Float64() < part
}
