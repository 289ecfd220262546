package load

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/ledger"
	"github.com/pronybench/prony/harness/scenario"
)

// kept are the results that a broker stores, by payload. The broker's mu guards them.
type kept struct {
	asked   map[string]time.Duration // tasks enqueued with a retention
	results map[string][]byte
	reads   int
	// fault changes the answer to the nth read, from 1; nil: no fault.
	fault func(n int, got *[]byte, err *error)
}

func (k *kept) ask(t driver.Task) {
	if k.asked == nil {
		k.asked, k.results = map[string]time.Duration{}, map[string][]byte{}
	}
	if t.ResultRetention > 0 {
		k.asked[string(t.Payload)] = t.ResultRetention
	}
}

func (k *kept) keep(d driver.Delivery) {
	if k.asked[string(d.Payload)] > 0 {
		k.results[string(d.Payload)] = slices.Clone(d.Result)
	}
}

// Result implements driver.Returner.
func (w *fakeWorker) Result(_ context.Context, completed *driver.Delivery) ([]byte, error) {
	w.b.mu.Lock()
	defer w.b.mu.Unlock()
	k := &w.b.kept
	k.reads++
	got, found := k.results[string(completed.Payload)]
	err := error(nil)
	if !found {
		err = driver.ErrNotFound
	}
	if k.fault != nil {
		k.fault(k.reads, &got, &err)
	}
	return got, err
}

func returned(part float64, change func(*scenario.Workload)) scenario.Workload {
	return workload(func(w *scenario.Workload) {
		w.Result = scenario.Results{Size: 100, Part: part}
		if change != nil {
			change(w)
		}
	})
}

// The given share of the tasks is completed with a result of the given size, and some of the
// results are read back.
func TestResults(t *testing.T) {
	for name, c := range map[string]struct {
		part   float64
		change func(*scenario.Workload)
	}{
		"some":         {0.1, nil},
		"all":          {1, nil},
		"in batches":   {0.5, func(w *scenario.Workload) { w.Batch = 5 }},
		"with retries": {0.5, func(w *scenario.Workload) { w.Fail, w.MaxAttempts, w.Backoff = 0.3, 3, time.Millisecond }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBroker()
				cfg := config(b, returned(c.part, c.change))
				o, err := Run(t.Context(), cfg)
				require.NoError(t, err)
				require.True(t, o.Drained)
				balance := cfg.Ledger.Balance()
				assert.Zero(t, balance.WrongResults+balance.Lost+balance.Duplicated, "%v", balance.Samples)
				assert.InDelta(t, c.part, float64(len(b.kept.asked))/float64(balance.Enqueued), 0.05)
				assert.InDelta(t, c.part, float64(len(b.kept.results))/float64(balance.Completed), 0.05)
				for _, result := range b.kept.results {
					require.Len(t, result, 100)
				}
				assert.EqualValues(t, b.kept.reads, balance.Results)
				assert.InDelta(t, float64(len(b.kept.results))/readBackEach, float64(balance.Results), 10)
			})
		})
	}
}

// A target that answers with a wrong result, or with none, is at fault.
func TestResultsThatAreWrong(t *testing.T) {
	for name, c := range map[string]struct {
		fault func(got *[]byte, err *error)
		says  string
	}{
		"changed":   {func(got *[]byte, _ *error) { *got = slices.Clone(*got); (*got)[41]++ }, "read back 100 bytes, expected 100; the first difference is at byte 41"},
		"cut":       {func(got *[]byte, _ *error) { *got = (*got)[:99] }, "read back 99 bytes, expected 100; the first difference is at byte 99"},
		"empty":     {func(got *[]byte, _ *error) { *got = nil }, "read back 0 bytes, expected 100; the first difference is at byte 0"},
		"not found": {func(got *[]byte, err *error) { *got, *err = nil, driver.ErrNotFound }, "no result: the tenant has no such task or queue"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBroker()
				b.kept.fault = func(n int, got *[]byte, err *error) {
					if n == 7 {
						c.fault(got, err)
					}
				}
				cfg := config(b, returned(0.5, nil))
				_, err := Run(t.Context(), cfg)
				require.NoError(t, err)
				balance := cfg.Ledger.Balance()
				assert.EqualValues(t, 1, balance.WrongResults)
				require.Len(t, balance.Samples, 1)
				assert.Regexp(t, `^wrong result: producer \d task \d+: `+c.says+"$", balance.Samples[0])
			})
		})
	}
}

func TestAReadOfAResultWithoutAnAnswerEndsTheLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker()
		b.kept.fault = func(_ int, _ *[]byte, err *error) { *err = errBroken }
		_, err := Run(t.Context(), config(b, returned(0.5, nil)))
		require.ErrorIs(t, err, errBroken)
	})
}

// An answer has the result of its task only if the result comes from the completion of the same
// task, is complete, and has the size that the workload defines.
func TestResultsOfAnswers(t *testing.T) {
	w := workload(func(w *scenario.Workload) { w.Result = scenario.Results{Size: 64, Part: 1} })
	of, address := newResulting(w), ledger.NewAddress("t0", "q0")
	id := ledger.Identity{Round: 42, Producer: 1, Sequence: 7}
	sealed := func(id ledger.Identity, to ledger.Address, size int) []byte {
		result := make([]byte, size)
		id.IntendedNS = 123 // a reader does not know the intended start
		ledger.Seal(result, id, to)
		return result
	}
	assert.True(t, of.of(id, address, sealed(id, address, 64)))
	damaged := sealed(id, address, 64)
	damaged[63] ^= 1
	another := id
	another.Sequence++
	for name, result := range map[string][]byte{
		"none": nil, "damaged": damaged, "another task's": sealed(another, address, 64), "another queue's": sealed(id, ledger.NewAddress("t0", "q1"), 64),
		"another size": sealed(id, address, 65),
	} {
		assert.False(t, of.of(id, address, result), name)
	}
	none := newResulting(workload(nil))
	assert.True(t, none.of(id, address, nil))
	assert.False(t, none.of(id, address, sealed(id, address, 64)), "no task of the workload has a result")
}
