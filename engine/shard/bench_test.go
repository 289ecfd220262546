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
		b.Run(fmt.Sprintf("batch=%d", batch), func(b *testing.B) { benchmarkCycle(b, batch) })
	}
}

const benchPayload = 64 // bytes

func benchmarkCycle(b *testing.B, batch int) {
	const producers = 32
	store, err := storage.Open(b.TempDir(), storage.Options{Durability: storage.None})
	if err != nil {
		b.Fatal(err)
	}
	s, err := New(store, Options{})
	if err != nil {
		b.Fatal(err)
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
	payload := make([]byte, benchPayload)
	var all sync.WaitGroup
	for p := range producers {
		n := b.N / producers
		if p < b.N%producers {
			n++
		}
		all.Go(func() { produce(b, s, n, batch, payload) })
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

func produce(b *testing.B, s enqueuer, n, batch int, payload []byte) {
	done := make(chan error, 1)
	for n > 0 {
		tasks := make([]queue.NewTask, min(n, batch))
		for i := range tasks {
			tasks[i] = queue.NewTask{Queue: "q", Payload: payload}
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
