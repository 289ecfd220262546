package shard

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage"
)

// BenchmarkCycle measures full cycles in one process, without the network: 32 producers, each with
// one call of batch tasks in flight, and one worker that completes its tasks. It uses durability
// none on the file system of the temporary folder. One operation is one cycle of one task.
func BenchmarkCycle(b *testing.B) {
	for _, batch := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("batch=%d", batch), func(b *testing.B) { benchmarkCycle(b, batch, nil, queue.Limit{}) })
	}
}

// BenchmarkLimitedCycle compares the cycle of tasks of 100,000 groups, in a queue with a limit of its
// groups, with that of tasks with another header in a queue without limits.
func BenchmarkLimitedCycle(b *testing.B) {
	for _, batch := range []int{16, 64} {
		for kind, limit := range map[string]queue.Limit{"plain": {}, "groups": {LeasedMax: 1_000_000}} {
			header := queue.GroupHeader
			if kind == "plain" {
				header = "other"
			}
			tasks := make([]queue.NewTask, 100_000)
			for i := range tasks {
				tasks[i] = queue.NewTask{Queue: "q", Payload: make([]byte, benchPayload-2-3-len(header)-len("customer-00000"))}
				tasks[i].AddHeaders(map[string]string{header: fmt.Sprintf("customer-%05d", i)})
			}
			b.Run(fmt.Sprintf("%s/batch=%d", kind, batch), func(b *testing.B) { benchmarkCycle(b, batch, tasks, limit) })
		}
	}
}

const benchPayload = 64 // bytes

// benchmarkCycle takes the tasks in turn from tasks. nil means equal tasks with a payload.
func benchmarkCycle(b *testing.B, batch int, tasks []queue.NewTask, limit queue.Limit) {
	const producers = 32
	store, err := storage.Open(b.TempDir(), storage.Options{Durability: storage.None})
	if err != nil {
		b.Fatal(err)
	}
	s, err := New(store, Options{})
	if err != nil {
		b.Fatal(err)
	}
	if limit != (queue.Limit{}) {
		configured := make(chan error, 1)
		if err := s.Configure("t", "q", queue.Policy{GroupLimit: limit}, 1, func(_ struct{}, err error) { configured <- err }); err != nil {
			b.Fatal(err)
		}
		if err := <-configured; err != nil {
			b.Fatal(err)
		}
	}
	if tasks == nil {
		tasks = []queue.NewTask{{Queue: "q", Payload: make([]byte, benchPayload)}}
	}
	w := &benchWorker{b: b, shard: s}
	b.ReportAllocs()
	b.ResetTimer()
	w.left.Add(b.N)
	w.sub, err = s.Subscribe(queue.Claim{Tenant: "t", Queues: []string{"q"}, Credit: 4 * producers * batch}, w.deliver,
		func(err error) { b.Errorf("the subscription failed: %v", err) }, nil)
	if err != nil {
		b.Fatal(err)
	}
	var all sync.WaitGroup
	for p := range producers {
		n := b.N / producers
		if p < b.N%producers {
			n++
		}
		all.Go(func() { produce(b, s, n, batch, tasks[p*len(tasks)/producers:], tasks) })
	}
	all.Wait()
	w.left.Wait()
	b.StopTimer()
	s.Close()
	if err := store.Close(); err != nil {
		b.Fatal(err)
	}
}

// enqueuer is a shard or a group.
type enqueuer interface {
	Enqueue(tenant string, tasks []queue.NewTask, reply func([]queue.Enqueued, error)) error
}

// produce enqueues n tasks: first those of from, and then all of them again and again.
func produce(b *testing.B, s enqueuer, n, batch int, from, all []queue.NewTask) {
	done := make(chan error, 1)
	for n > 0 {
		tasks := make([]queue.NewTask, min(n, batch))
		for i := range tasks {
			tasks[i] = from[0]
			if from = from[1:]; len(from) == 0 {
				from = all
			}
		}
		n -= len(tasks)
		if err := s.Enqueue("t", tasks, func(_ []queue.Enqueued, err error) { done <- err }); err != nil {
			b.Error(err)
			return
		}
		if err := <-done; err != nil {
			b.Error(err)
			return
		}
	}
}

// benchWorker completes the tasks that it receives.
type benchWorker struct {
	b     *testing.B
	shard *Shard
	sub   *Subscription
	left  sync.WaitGroup // cycles
}

func (w *benchWorker) deliver(ds []queue.Delivery) {
	settlements := make([]queue.Settlement, len(ds))
	var bytes int64
	for i := range ds {
		bytes += int64(ds[i].Bytes)
		settlements[i] = queue.Settlement{Ref: ds[i].Ref, Token: ds[i].Token, Action: queue.Complete}
	}
	if err := w.shard.Settle("t", settlements, w.settled); err != nil {
		w.b.Error(err)
	}
	if err := w.sub.Sent(bytes); err != nil {
		w.b.Error(err)
	}
}

func (w *benchWorker) settled(outcomes []error, err error) {
	for _, outcome := range outcomes {
		if err != nil || outcome != nil {
			w.b.Errorf("a task was not completed: %v, %v", err, outcome)
		}
	}
	if err := errors.Join(w.sub.Credit(len(outcomes)), w.sub.Sent(int64(len(outcomes)*benchPayload))); err != nil {
		w.b.Error(err)
	}
	w.left.Add(-len(outcomes))
}
