package null

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/harness/driver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// session opens a producer and a worker of a tenant.
func session(t require.TestingT, target *Target, tenant string, queues ...string) (driver.Producer, driver.Worker) {
	p, err := target.Dial().Producer(context.Background(), tenant)
	require.NoError(t, err)
	w, err := target.Dial().Worker(context.Background(), tenant, queues, 1)
	require.NoError(t, err)
	return p, w
}

func enqueue(t require.TestingT, p driver.Producer, tenant, queue string, payloads ...string) {
	var tasks []driver.Task
	for _, payload := range payloads {
		tasks = append(tasks, driver.Task{Tenant: tenant, Queue: queue, Payload: []byte(payload)})
	}
	outcomes := make([]error, len(tasks))
	require.NoError(t, p.Enqueue(context.Background(), tasks, outcomes))
	for _, outcome := range outcomes {
		require.NoError(t, outcome)
	}
	for i := range tasks {
		clear(tasks[i].Payload) // the caller may reuse the payloads
	}
}

func TestTasksComeOutAsTheyWentIn(t *testing.T) {
	target := New()
	p, w := session(t, target, "t0", "a", "b")
	other, _ := session(t, target, "t1", "a")
	enqueue(t, p, "t0", "a", "1", "22", "")
	enqueue(t, other, "t1", "a", "of another tenant")
	enqueue(t, p, "t0", "c", "of a queue without a worker")
	enqueue(t, p, "t0", "b", "3")
	enqueue(t, p, "t0", "a", "4", "5")

	var got []string
	for len(got) < 6 {
		into := make([]driver.Delivery, 4)
		n, err := w.Claim(t.Context(), into)
		require.NoError(t, err)
		for _, d := range into[:n] {
			assert.Equal(t, "t0", d.Tenant)
			got = append(got, d.Queue+":"+string(d.Payload))
		}
		outcomes := make([]error, n)
		require.NoError(t, w.Complete(t.Context(), into[:n], outcomes))
	}
	assert.Equal(t, []string{"a:1", "a:22", "a:", "a:4", "a:5", "b:3"}, got)
}

func TestATaskOfAnotherTenantIsRefused(t *testing.T) {
	p, w := session(t, New(), "t0", "q")
	outcomes := make([]error, 3)
	require.NoError(t, p.Enqueue(t.Context(), []driver.Task{
		{Tenant: "t0", Queue: "q", Payload: []byte("1")}, {Tenant: "t1", Queue: "q"}, {Tenant: "t0", Queue: "q", Payload: []byte("2")},
	}, outcomes))
	assert.NoError(t, outcomes[0])
	assert.ErrorIs(t, outcomes[1], errOtherTenant)
	assert.NoError(t, outcomes[2])
	into := make([]driver.Delivery, 3)
	n, err := w.Claim(t.Context(), into)
	require.NoError(t, err)
	assert.Equal(t, 2, n)
	assert.ErrorIs(t, w.Complete(t.Context(), []driver.Delivery{{Queue: "q"}}, make([]error, 1)), errNotClaimed)
}

// Uncompleted batches are bounded: an enqueue waits for a completion, and gives up with its
// context.
func TestAnEnqueueWaitsForRoom(t *testing.T) {
	for name, fill := range map[string]func(*Target){
		"batches": func(target *Target) { target.tenant("t0").made.Store(batchesMax - 1) },
		"bytes":   func(target *Target) { target.bytes.Store(bytesMax) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				target := New()
				p, w := session(t, target, "t0", "q")
				if name == "batches" {
					fill(target)
					enqueue(t, p, "t0", "q", "1")
				} else {
					enqueue(t, p, "t0", "q", "1") // one batch is always allowed
					fill(target)
				}
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				assert.ErrorIs(t, p.Enqueue(ctx, []driver.Task{{Tenant: "t0", Queue: "q"}}, make([]error, 1)), context.Canceled)

				done := false
				go func() {
					enqueue(t, p, "t0", "q", "2")
					done = true
				}()
				synctest.Wait()
				require.False(t, done)
				into := make([]driver.Delivery, 2)
				n, err := w.Claim(t.Context(), into)
				require.NoError(t, err)
				require.Equal(t, 1, n)
				synctest.Wait()
				require.False(t, done, "a claimed task is not completed")
				require.NoError(t, w.Complete(t.Context(), into[:n], make([]error, n)))
				synctest.Wait()
				require.True(t, done)
			})
		})
	}
}

func TestWorkersWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, a := session(t, New(), "t0", "a")
		b := a.(*worker).tenant.worker([]string{"b"})
		var mu sync.Mutex
		var order []string
		wait := func(ctx context.Context, name string, w driver.Worker) {
			go func() {
				n, err := w.Claim(ctx, make([]driver.Delivery, 1))
				mu.Lock()
				defer mu.Unlock()
				order = append(order, fmt.Sprint(name, n, err))
			}()
			synctest.Wait()
		}
		first, cancel := context.WithCancel(t.Context())
		wait(first, "first ", a)
		wait(t.Context(), "second ", a)
		wait(t.Context(), "third ", a)
		wait(t.Context(), "of b ", b)
		cancel()
		synctest.Wait()
		enqueue(t, p, "t0", "b", "1")
		synctest.Wait()
		enqueue(t, p, "t0", "a", "2", "3") // one call, for both waiting workers
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		assert.Equal(t, []string{"first 0 context canceled", "of b 1 <nil>"}, order[:2])
		assert.ElementsMatch(t, []string{"second 1 <nil>", "third 1 <nil>"}, order[2:])
		assert.Empty(t, a.(*worker).tenant.waiting)
	})
}

// A worker that gives up at the moment when it is woken leaves the task to the next one.
func TestAWakingIsNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, w := session(t, New(), "t0", "q")
		own := w.(*worker)
		_, gone := own.tenant.claim(own, make([]driver.Delivery, 1), nil)
		got := 0
		go func() { got, _ = w.Claim(t.Context(), make([]driver.Delivery, 1)) }()
		synctest.Wait()
		enqueue(t, p, "t0", "q", "1") // wakes the worker that has given up
		synctest.Wait()
		require.Zero(t, got)
		own.tenant.leave(gone)
		synctest.Wait()
		assert.Equal(t, 1, got)
	})
}

// For any sizes of calls, each task is delivered once, and the tasks of a producer and queue in
// order.
func TestEachTaskComesOutOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		target := New()
		const producers, tasks = 3, 60
		batch := rapid.IntRange(1, 9).Draw(rt, "tasks a call")
		room := rapid.IntRange(1, 9).Draw(rt, "tasks a claim")
		var all sync.WaitGroup
		for i := range producers {
			p, _ := session(rt, target, "t0", "q")
			all.Go(func() {
				for from := 0; from < tasks; from += batch {
					var payloads []string
					for k := from; k < min(from+batch, tasks); k++ {
						payloads = append(payloads, string([]byte{byte(i), byte(k)}))
					}
					enqueue(rt, p, "t0", "q", payloads...)
				}
			})
		}
		next := [producers]byte{}
		_, w := session(rt, target, "t0", "q")
		for claimed := 0; claimed < producers*tasks; {
			into := make([]driver.Delivery, room)
			n, err := w.Claim(context.Background(), into)
			require.NoError(rt, err)
			for _, d := range into[:n] {
				i, k := d.Payload[0], d.Payload[1]
				require.Equal(rt, next[i], k, "producer %d", i)
				next[i]++
			}
			require.NoError(rt, w.Complete(context.Background(), into[:n], make([]error, n)))
			claimed += n
		}
		all.Wait()
		require.Len(rt, target.tenant("t0").free, int(target.tenant("t0").made.Load()), "all batches were returned")
	})
}

func TestNoAllocationPerCall(t *testing.T) {
	p, w := session(t, New(), "t0", "q")
	tasks := []driver.Task{{Tenant: "t0", Queue: "q", Payload: make([]byte, 64)}, {Tenant: "t0", Queue: "q", Payload: make([]byte, 64)}}
	outcomes, into := make([]error, 2), make([]driver.Delivery, 2)
	cycle := func() {
		if p.Enqueue(t.Context(), tasks, outcomes) != nil {
			t.Fatal("not enqueued")
		}
		if n, err := w.Claim(t.Context(), into); n != 2 || err != nil {
			t.Fatal("not claimed")
		}
		if w.Complete(t.Context(), into, outcomes) != nil {
			t.Fatal("not completed")
		}
	}
	cycle()
	assert.Zero(t, testing.AllocsPerRun(100, cycle))
}
