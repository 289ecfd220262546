package load

import (
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/scenario"
)

// keyed are the idempotency keys that a broker knows. The broker's mu guards them.
type keyed struct {
	ids      map[string]string // by queue and key
	last     int
	repeated int
	// forget reports whether the nth repetition, from 1, is stored as a separate task. mix reports
	// whether it is answered with a different id.
	forget, mix func(n int) bool
}

// known sets the id of a task with a key, and reports whether the broker already has the task.
func (k *keyed) known(t *driver.Task) bool {
	if t.Key == "" {
		return false
	}
	if k.ids == nil {
		k.ids = map[string]string{}
	}
	name := t.Tenant + "/" + t.Queue + "/" + t.Key
	if id, found := k.ids[name]; found {
		k.repeated++
		t.ID = id
		if k.mix != nil && k.mix(k.repeated) {
			t.ID = "another"
		}
		if k.forget == nil || !k.forget(k.repeated) {
			return true
		}
	}
	k.last++
	t.ID = "t" + strconv.Itoa(k.last)
	k.ids[name] = t.ID
	return false
}

func repeating(share float64, change func(*scenario.Workload)) scenario.Workload {
	return workload(func(w *scenario.Workload) {
		w.Key = share
		if change != nil {
			change(w)
		}
	})
}

// The given share of the tasks has a key, and is enqueued a second time under it. The target stores
// none of them twice.
func TestKeys(t *testing.T) {
	for name, c := range map[string]struct {
		share  float64
		change func(*scenario.Workload)
	}{
		"some":       {0.1, nil},
		"all":        {1, nil},
		"in batches": {0.5, func(w *scenario.Workload) { w.Batch = 5 }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBroker()
				cfg := config(b, repeating(c.share, c.change))
				o, err := Run(t.Context(), cfg)
				require.NoError(t, err)
				require.True(t, o.Drained)
				balance := cfg.Ledger.Balance()
				assert.Zero(t, balance.Rekeyed+balance.Lost+balance.Duplicated, "%v", balance.Samples)
				assert.InDelta(t, c.share, float64(balance.Repeated)/float64(balance.Enqueued), 0.05)
				assert.EqualValues(t, b.keys.repeated, balance.Repeated)
				assert.Len(t, b.keys.ids, b.keys.repeated, "keys are unique")
			})
		})
	}
}

// A target that answers a repetition with a different id is at fault. If it stores the task twice,
// the task is also completed twice.
func TestKeysThatLeadToAnotherTask(t *testing.T) {
	for name, c := range map[string]struct {
		fault      func(*keyed)
		duplicated uint64
		says       string
	}{
		"answered": {func(k *keyed) { k.mix = func(n int) bool { return n == 7 } }, 0, `"another"`},
		"stored":   {func(k *keyed) { k.forget = func(n int) bool { return n == 7 } }, 1, `"t\d+"`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBroker()
				c.fault(&b.keys)
				cfg := config(b, repeating(0.5, nil))
				_, err := Run(t.Context(), cfg)
				require.NoError(t, err)
				balance := cfg.Ledger.Balance()
				assert.EqualValues(t, 1, balance.Rekeyed)
				assert.Equal(t, c.duplicated, balance.Duplicated)
				require.NotEmpty(t, balance.Samples)
				assert.Regexp(t, `^rekeyed: producer \d task \d+ was enqueued as "t\d+" under the key "16-\d-\w+", and again as `+c.says+`$`, balance.Samples[len(balance.Samples)-1])
			})
		})
	}
}

// A refused repetition counts as a refused enqueue.
func TestRepetitionsThatAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		seen := 0
		b.refuseEnqueue = func(int) error {
			if seen++; seen%5 == 0 {
				return errors.New("full")
			}
			return nil
		}
		cfg := config(b, repeating(1, nil))
		o, err := Run(t.Context(), cfg)
		require.NoError(t, err)
		balance := cfg.Ledger.Balance()
		assert.Less(t, balance.Repeated, balance.Enqueued)
		assert.Greater(t, o.RefusedEnqueues.Count, cfg.Ledger.Totals().Refused)
		assert.Zero(t, balance.Lost+balance.Duplicated+balance.Rekeyed, "%v", balance.Samples)
	})
}

// The latency of an enqueue omits the producer's repetitions of earlier tasks.
func TestLatencyBesideRepetitions(t *testing.T) {
	for _, inFlight := range []int{0, 1000} {
		synctest.Test(t, func(t *testing.T) {
			b := newBroker()
			b.enqueueDelay, b.ackDelay = 10*time.Millisecond, 0
			o, err := Run(t.Context(), config(b, repeating(1, func(w *scenario.Workload) { w.Producers, w.InFlight = 1, inFlight })))
			require.NoError(t, err)
			require.NotZero(t, o.EnqueueLatency.TotalCount())
			assert.InEpsilon(t, 10*time.Millisecond, o.EnqueueLatency.Max(), 0.01, "in flight: %d", inFlight)
		})
	}
}
