package load

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/scenario"
)

// extensions configures how a broker extends leases.
type extensions struct {
	delay  time.Duration
	asked  int
	leases map[time.Duration]int
	// refuse decides about the nth extension, from 1; nil: accepts all. The broker's mu guards it.
	refuse func(n int) error
	call   func() error // fails whole calls
}

// Extend implements driver.Extender.
func (w *fakeWorker) Extend(ctx context.Context, deliveries []driver.Delivery, lease time.Duration, outcomes []error) error {
	e := &w.b.extensions
	if e.call != nil {
		if err := e.call(); err != nil {
			return err
		}
	}
	if err := wait(ctx, e.delay); err != nil {
		return err
	}
	w.b.mu.Lock()
	defer w.b.mu.Unlock()
	for i := range deliveries {
		e.asked++
		if e.leases == nil {
			e.leases = map[time.Duration]int{}
		}
		e.leases[lease]++
		outcomes[i] = nil
		if e.refuse != nil {
			outcomes[i] = e.refuse(e.asked)
		}
	}
	return nil
}

func extended(share float64, change func(*scenario.Workload)) scenario.Workload {
	return workload(func(w *scenario.Workload) {
		w.Extend, w.Lease = share, 30*time.Second
		if change != nil {
			change(w)
		}
	})
}

// The given share of the leases is extended once, by the lease time of the workload. Each extension
// in the window has a latency.
func TestExtensions(t *testing.T) {
	for name, c := range map[string]struct {
		share  float64
		change func(*scenario.Workload)
	}{
		"some":       {0.1, nil},
		"all":        {1, nil},
		"in batches": {0.5, func(w *scenario.Workload) { w.Batch = 5 }},
		"combined":   {0.5, func(w *scenario.Workload) { w.Combined, w.InFlight = true, 400 }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBroker()
				b.extensions.delay = 3 * time.Millisecond
				cfg := brief(config(b, extended(c.share, c.change)))
				b.combines = cfg.Workload.Combined
				o, err := Run(t.Context(), cfg)
				require.NoError(t, err)
				require.True(t, o.Drained)
				balance := cfg.Ledger.Balance()
				assert.Zero(t, balance.Unextended+balance.Lost+balance.Duplicated, "%v", balance.Samples)
				assert.InDelta(t, c.share, float64(b.extensions.asked)/float64(balance.Completed), 0.05)
				assert.EqualValues(t, b.extensions.asked, balance.Extended)
				assert.Equal(t, map[time.Duration]int{30 * time.Second: b.extensions.asked}, b.extensions.leases)
				assert.Positive(t, o.Extend.TotalCount())
				assert.LessOrEqual(t, o.Extend.TotalCount(), int64(balance.Extended))
				assert.InDelta(t, 3e6, float64(o.Extend.Max()), 1e5)
			})
		})
	}
}

// A target that refuses to extend a valid lease is at fault. The refusal for an expired lease is
// not a fault, though it counts as refused.
func TestExtensionsThatAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		until      time.Duration
		reason     error
		unextended uint64
	}{
		"of a valid lease":   {30 * time.Second, driver.ErrLeaseOver, 1},
		"of one that ends":   {100 * time.Millisecond, driver.ErrLeaseOver, 0},
		"for another reason": {30 * time.Second, errors.New("the server is full"), 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBroker()
				b.deliver = func(n int, d *driver.Delivery) { d.Token, d.UntilMs = uint64(n), time.Now().Add(c.until).UnixMilli() }
				b.extensions.refuse = func(n int) error {
					if n == 7 {
						return c.reason
					}
					return nil
				}
				cfg := config(b, extended(0.5, nil))
				o, err := Run(t.Context(), cfg)
				require.NoError(t, err)
				assert.EqualValues(t, 1, o.RefusedCompletions.Count)
				assert.Equal(t, "extend: "+c.reason.Error(), o.RefusedCompletions.First)
				balance := cfg.Ledger.Balance()
				assert.Equal(t, c.unextended, balance.Unextended)
				if c.unextended > 0 {
					require.Len(t, balance.Samples, 1)
					assert.Regexp(t, `^unextended: producer \d task \d+: an extension was refused although the lease with token \d+ was valid for another (30|29\.999)s$`, balance.Samples[0])
				}
			})
		})
	}
}

func TestAnExtensionWithoutAnAnswerEndsTheLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		b.extensions.call = func() error { return errBroken }
		_, err := Run(t.Context(), config(b, extended(0.5, nil)))
		require.ErrorIs(t, err, errBroken)
	})
}

func TestDriversThatLackACapability(t *testing.T) {
	s := golden.Cases(t, "testdata/capabilities.golden")
	_, err := newExtending(extended(0.1, func(w *scenario.Workload) { w.Driver = "null" }), struct{ driver.Worker }{})
	s.Error(t, "extend", err)
	_, err = newCancelling(cancelled(0.1, func(w *scenario.Workload) { w.Driver = "null" }), struct{ driver.Worker }{})
	s.Error(t, "cancel", err)
	_, err = newFailing(failed(0.1, 5, func(w *scenario.Workload) { w.Driver = "null" }), struct{ driver.Worker }{})
	s.Error(t, "fail", err)
	_, err = newReturning(returned(0.1, func(w *scenario.Workload) { w.Driver = "null" }), struct{ driver.Worker }{})
	s.Error(t, "result", err)
}
