package load

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/ledger"
	"github.com/pronybench/prony/harness/scenario"
)

// retries configures how a broker handles failed tasks.
type retries struct {
	maxAttempts uint32 // of the enqueued tasks
	backoff     time.Duration
	failed      int
	dead        int

	// Each fault gets the number of the failure, from 1. The caller holds mu.
	refuse func(n int) error
	forget func(n int) bool // whether the task is never delivered again
	// again reports whether the task is delivered again at once, with the same attempt.
	again func(n int, dead bool) bool
	skip  func(n int) (attempts uint32)   // by how many attempts the next one is too high
	call  func(ctx context.Context) error // fails whole calls; the caller does not hold mu
}

// Fail implements driver.Failer.
func (w *fakeWorker) Fail(ctx context.Context, deliveries []driver.Delivery, outcomes []error) error {
	r := &w.b.retries
	if r.call != nil {
		if err := r.call(ctx); err != nil {
			return err
		}
	}
	if err := wait(ctx, w.b.completeDelay); err != nil {
		return err
	}
	w.b.mu.Lock()
	defer w.b.mu.Unlock()
	for i, d := range deliveries {
		task, ok := d.Handle.(driver.Delivery)
		if !ok {
			return errors.New("a delivery that was not claimed")
		}
		r.failed++
		n, dead := r.failed, task.Attempt >= r.maxAttempts
		if r.refuse != nil {
			if outcomes[i] = r.refuse(n); outcomes[i] != nil {
				w.b.push(task)
				continue
			}
		}
		if dead {
			r.dead++
		}
		switch {
		case r.again != nil && r.again(n, dead):
			w.b.push(task)
		case dead, r.forget != nil && r.forget(n):
		default:
			task.Attempt++
			if r.skip != nil {
				task.Attempt += r.skip(n)
			}
			time.AfterFunc(r.backoff, func() {
				w.b.mu.Lock()
				defer w.b.mu.Unlock()
				w.b.push(task)
			})
		}
	}
	return nil
}

// failed returns a workload whose workers fail a share of the deliveries.
func failed(share float64, attempts int, change func(*scenario.Workload)) scenario.Workload {
	return workload(func(w *scenario.Workload) {
		w.Fail, w.MaxAttempts, w.Backoff = share, attempts, 20*time.Millisecond
		if change != nil {
			change(w)
		}
	})
}

// The given share of the deliveries fails. Each task is delivered again until it is completed or
// dead, and each end counts once.
func TestFailures(t *testing.T) {
	for name, c := range map[string]struct {
		share    float64
		attempts int
		change   func(*scenario.Workload)
	}{
		"some":          {0.1, 10, nil},
		"most":          {0.7, 3, nil},
		"in batches":    {0.3, 4, func(w *scenario.Workload) { w.Batch = 5 }},
		"without retry": {0.2, 1, func(w *scenario.Workload) { w.InFlight = 16 }},
		"combined":      {0.3, 4, func(w *scenario.Workload) { w.Batch, w.Combined, w.InFlight = 5, true, 400 }},
		"with a limit":  {0.3, 2, func(w *scenario.Workload) { w.InFlight = 8 }},
		"with priority": {0.3, 2, func(w *scenario.Workload) { w.Priority = scenario.Priority{Kind: scenario.PriorityUniform, Max: 9} }},
		"after thinking": {0.3, 2, func(w *scenario.Workload) {
			w.Think = scenario.Think{Kind: scenario.ThinkFixed, Min: time.Millisecond, Max: time.Millisecond}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBroker()
				cfg := brief(config(b, failed(c.share, c.attempts, c.change)))
				b.combines = cfg.Workload.Combined
				o, err := Run(t.Context(), cfg)
				require.NoError(t, err)
				require.True(t, o.Drained)
				assert.Zero(t, o.RefusedCompletions.Count)
				balance := cfg.Ledger.Balance()
				assert.Zero(t, balance.Lost+balance.Duplicated+balance.Corrupted+balance.Miscounted, "%v", balance.Samples)
				assert.EqualValues(t, b.retries.failed, balance.Failed)
				assert.EqualValues(t, b.retries.dead, balance.Dead)
				assert.Equal(t, balance.Enqueued, balance.Completed+balance.Dead)
				assert.Equal(t, balance.Failed, balance.Retried+balance.Dead)
				assert.EqualValues(t, b.deliveries, balance.Enqueued+balance.Retried)
				assert.InDelta(t, c.share, float64(balance.Failed)/float64(b.deliveries), 0.03)
				assert.InDelta(t, math.Pow(c.share, float64(c.attempts)), float64(balance.Dead)/float64(balance.Enqueued), 0.03)
				if c.attempts > 1 {
					assert.GreaterOrEqual(t, o.CycleLatency.Max(), int64(cfg.Workload.Backoff), "the cycle latency includes the backoff before retries")
				}
			})
		})
	}
}

// A target that loses a task, or delivers one with a wrong attempt, is at fault.
func TestRetriesThatAreWrong(t *testing.T) {
	for name, c := range map[string]struct {
		fault func(*retries)
		count func(ledgerCounts) uint64
		says  string
	}{
		"lost": {
			func(r *retries) { r.forget = func(n int) bool { return n == 7 } },
			func(l ledgerCounts) uint64 { return l.lost },
			`^lost: producer \d task \d+: enqueue acknowledged, attempt \d failed, never claimed again$`,
		},
		"with the same attempt": {
			func(r *retries) { r.again = func(n int, dead bool) bool { return n == 7 && !dead } },
			func(l ledgerCounts) uint64 { return l.miscounted },
			`^miscounted: producer \d task \d+ was claimed with attempt 1, expected 2$`,
		},
		"with a later attempt": {
			func(r *retries) { r.skip = func(n int) uint32 { return map[bool]uint32{true: 1}[n == 7] } },
			func(l ledgerCounts) uint64 { return l.miscounted },
			`^miscounted: producer \d task \d+ was claimed with attempt 3, expected 2$`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBroker()
				c.fault(&b.retries)
				cfg := config(b, failed(0.1, 50, nil))
				_, err := Run(t.Context(), cfg)
				require.NoError(t, err)
				balance := cfg.Ledger.Balance()
				assert.EqualValues(t, 1, c.count(ledgerCounts{balance.Lost, balance.Miscounted, balance.Duplicated}), "%+v", balance)
				require.NotEmpty(t, balance.Samples)
				assert.Regexp(t, c.says, balance.Samples[0])
			})
		})
	}
}

type ledgerCounts struct{ lost, miscounted, duplicated uint64 }

// A task that is delivered again after its last attempt failed is reported, whether it is then
// completed or failed.
func TestTheDeadThatComeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		times := 0
		b.retries.again = func(_ int, dead bool) bool {
			if dead {
				times++
			}
			return dead && times <= 3
		}
		cfg := config(b, failed(0.5, 1, nil))
		_, err := Run(t.Context(), cfg)
		require.NoError(t, err)
		balance := cfg.Ledger.Balance()
		assert.NotZero(t, balance.Duplicated)
		require.NotEmpty(t, balance.Samples)
		assert.Regexp(t, `^duplicated: producer \d task \d+: (the failure of its last attempt|a completion) was acknowledged after the task was completed or dead$`, balance.Samples[0])
	})
}

// A refused failure counts like a refused completion: the server had leased the task.
func TestFailuresThatAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		b.retries.refuse = func(n int) error {
			if n == 3 {
				return errors.New("stale token")
			}
			return nil
		}
		o, err := Run(t.Context(), config(b, failed(0.1, 5, nil)))
		require.NoError(t, err)
		assert.EqualValues(t, 1, o.RefusedCompletions.Count)
		assert.Equal(t, "fail: stale token", o.RefusedCompletions.First)
	})
}

func TestAFailureWithoutAnAnswerEndsTheLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		b.retries.call = func(context.Context) error { return errBroken }
		_, err := Run(t.Context(), config(b, failed(0.1, 5, nil)))
		require.ErrorIs(t, err, errBroken)
	})
}

// The histograms contain all tasks of an open load whose intended start is in the window. Dead
// tasks are censored at the window's end.
func TestDeadTasksOfAnOpenLoadAreCensored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		cfg := open(b, 500, func(w *scenario.Workload) { w.Fail, w.MaxAttempts, w.Backoff = 0.5, 1, time.Millisecond })
		o, err := Run(t.Context(), cfg)
		require.NoError(t, err)
		require.True(t, o.Drained)
		require.NotZero(t, cfg.Ledger.Balance().Dead)
		assert.EqualValues(t, o.Open.Scheduled, o.CycleLatency.TotalCount())
		assert.InDelta(t, 0.5, float64(o.Open.Unfinished)/float64(o.Open.Scheduled), 0.1)
		assert.Greater(t, o.CycleLatency.Max(), int64(cfg.Phases.Window)*9/10)
	})
}

// Each attempt of a task is drawn independently. The same seed fails the same attempts.
func TestFailuresFollowFromTheSeed(t *testing.T) {
	hits := func(seed int, attempt uint32) (all []bool) {
		f := failing{lot: newLot(scenario.Workload{Seed: seed}, lotFail, 0.5)}
		for i := range uint64(200) {
			all = append(all, f.hits(&claimed{id: ledger.Identity{Producer: 3, Sequence: i}, attempt: attempt}))
		}
		return all
	}
	assert.Equal(t, hits(1, 1), hits(1, 1))
	assert.NotEqual(t, hits(1, 1), hits(2, 1))
	assert.NotEqual(t, hits(1, 1), hits(1, 2))
}
