package load

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/scenario"
)

// cancellations configures how a broker cancels leased tasks. The broker's mu guards it.
type cancellations struct {
	asked int
	tasks map[string]bool // payloads of cancelled tasks
	// answer is the error of the nth cancellation, from 1; nil: acknowledges all.
	answer func(n int) error
	keeps  bool // a cancelled task can be completed
}

const noticeTime = 3 * time.Millisecond

// Cancel implements driver.Canceller.
func (w *fakeWorker) Cancel(ctx context.Context, d *driver.Delivery) (time.Duration, error) {
	if err := wait(ctx, noticeTime); err != nil {
		return 0, err
	}
	w.b.mu.Lock()
	defer w.b.mu.Unlock()
	c := &w.b.cancellations
	c.asked++
	var err error
	if c.answer != nil {
		err = c.answer(c.asked)
	}
	if err == nil || errors.Is(err, driver.ErrNoNotice) {
		if c.tasks == nil {
			c.tasks = map[string]bool{}
		}
		c.tasks[string(d.Payload)] = !c.keeps
	}
	return noticeTime, err
}

func cancelled(share float64, change func(*scenario.Workload)) scenario.Workload {
	return workload(func(w *scenario.Workload) {
		w.Cancel = share
		if change != nil {
			change(w)
		}
	})
}

// The given share of the tasks is cancelled. Each notice in the window has a time. The others are
// completed.
func TestCancellations(t *testing.T) {
	for name, change := range map[string]func(*scenario.Workload){
		"single":     nil,
		"in batches": func(w *scenario.Workload) { w.Batch = 5 },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBroker()
				cfg := brief(config(b, cancelled(0.2, change)))
				o, err := Run(t.Context(), cfg)
				require.NoError(t, err)
				require.True(t, o.Drained)
				balance := cfg.Ledger.Balance()
				assert.Empty(t, balance.Samples)
				assert.EqualValues(t, b.cancellations.asked, balance.Cancelled)
				assert.Equal(t, balance.Enqueued, balance.Completed+balance.Cancelled)
				assert.InDelta(t, 0.2, float64(balance.Cancelled)/float64(balance.Enqueued), 0.05)
				assert.Zero(t, o.RefusedCompletions.Count)
				assert.Positive(t, o.Cancel.TotalCount())
				assert.InDelta(t, float64(noticeTime), float64(o.Cancel.Max()), 1e5)
			})
		})
	}
}

// A cancelled task that can be completed is a duplicate. A cancellation without a notice is a fault.
// A refused one is reported, and its task is completed.
func TestFaultsOfCancellations(t *testing.T) {
	at := func(n int, err error) func(int) error {
		return func(asked int) error {
			if asked == n {
				return err
			}
			return nil
		}
	}
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		b.cancellations.answer = at(3, driver.ErrNoNotice)
		b.cancellations.keeps = true
		cfg := brief(config(b, cancelled(0.2, nil)))
		_, err := Run(t.Context(), cfg)
		require.NoError(t, err)
		balance := cfg.Ledger.Balance()
		assert.EqualValues(t, 1, balance.Unnoticed)
		assert.Equal(t, balance.Cancelled, balance.Duplicated)
	})
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		b.cancellations.answer = at(3, errors.New("no such task"))
		cfg := brief(config(b, cancelled(0.2, nil)))
		o, err := Run(t.Context(), cfg)
		require.NoError(t, err)
		assert.EqualValues(t, 1, o.RefusedCompletions.Count)
		assert.Equal(t, "cancel: no such task", o.RefusedCompletions.First)
		balance := cfg.Ledger.Balance()
		assert.EqualValues(t, b.cancellations.asked-1, balance.Cancelled)
		assert.Equal(t, balance.Enqueued, balance.Completed+balance.Cancelled)
	})
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		b.cancellations.answer = at(3, driver.ErrUnknown)
		_, err := Run(t.Context(), config(b, cancelled(0.2, nil)))
		require.ErrorIs(t, err, driver.ErrUnknown)
	})
}
