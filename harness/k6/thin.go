package k6

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"
)

// samplesPerSDefault is the default of samplesEnv. It bounds memory and CPU time, because k6 stores
// each sample until the test's end, in several copies, and sorts them every two seconds.
const samplesPerSDefault = 100

// samplesEnv sets about how many samples a second a trend has; 0 means all.
const samplesEnv = "PRONY_SAMPLES_PER_S"

// samplesPerS returns the value of samplesEnv.
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

// thinning selects values of a trend at random as samples. It selects about perS values a second,
// so that their percentiles approximate those of all values. It is safe for concurrent use.
type thinning struct {
	perS float64 // 0: every value is a sample

	mu     sync.Mutex
	second int64   // current second, since 1970
	seen   float64 // number of values in second
	part   float64 // share of the values to select, from the previous second's rate
	most   float64 // largest value of the test
}

// draws reports whether a value becomes a sample. The largest value so far always does.
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
	if t.seen > t.perS { // the rate has risen since the previous second
		part = min(part, t.perS/t.seen)
	}
	return largest || part >= 1 || rand.Float64() < part
}
