package shard

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage"
)

// BenchmarkGroupCycle is BenchmarkCycle through a group. With one shard it must cost the same as
// the shard alone.
func BenchmarkGroupCycle(b *testing.B) {
	for _, shards := range []int{1, 4} {
		for _, batch := range []int{1, 64} {
			b.Run(fmt.Sprintf("shards=%d/batch=%d", shards, batch), func(b *testing.B) { benchmarkGroupCycle(b, shards, batch) })
		}
	}
}

func benchmarkGroupCycle(b *testing.B, shards, batch int) {
	const producers = 32
	stores := make([]*storage.Store, shards)
	for i := range stores {
		var err error
		if stores[i], err = storage.Open(b.TempDir(), storage.Options{Durability: storage.None}); err != nil {
			b.Fatal(err)
		}
	}
	g, err := NewGroup(stores, func(int) Options { return Options{} })
	if err != nil {
		b.Fatal(err)
	}
	w := &groupBenchWorker{b: b, group: g, ready: make(chan struct{})}
	b.ReportAllocs()
	b.ResetTimer()
	w.left.Add(b.N)
	w.sub, err = g.Subscribe(queue.Claim{Tenant: "t", Queues: []string{"q"}, Credit: 4 * producers * batch}, w.deliver,
		func(err error) { b.Errorf("the subscription failed: %v", err) }, nil)
	if err != nil {
		b.Fatal(err)
	}
	close(w.ready)
	tasks := []queue.NewTask{{Queue: "q", Payload: make([]byte, benchPayload)}}
	var all sync.WaitGroup
	for p := range producers {
		n := b.N / producers
		if p < b.N%producers {
			n++
		}
		all.Go(func() { produce(b, g, n, batch, tasks, tasks) })
	}
	all.Wait()
	w.left.Wait()
	b.StopTimer()
	g.Close()
	for _, s := range stores {
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// groupBenchWorker completes the tasks that it receives.
type groupBenchWorker struct {
	b     *testing.B
	group *Group
	sub   *GroupSubscription
	ready chan struct{} // closed once sub is set
	left  sync.WaitGroup
}

func (w *groupBenchWorker) deliver(shard uint16, ds []queue.Delivery) {
	<-w.ready
	var bytes int64
	settlements := make([]queue.Settlement, len(ds))
	for i := range ds {
		bytes += int64(len(ds[i].Payload))
		settlements[i] = queue.Settlement{Shard: shard, Ref: ds[i].Ref, Token: ds[i].Token, Action: queue.Complete}
	}
	if err := errors.Join(w.group.Settle("t", settlements, w.settled), w.sub.Sent(shard, bytes)); err != nil {
		w.b.Error(err)
	}
}

func (w *groupBenchWorker) settled(outcomes []error, err error) {
	for _, outcome := range outcomes {
		if err != nil || outcome != nil {
			w.b.Errorf("a task was not completed: %v, %v", err, outcome)
		}
	}
	if err := w.sub.Credit(len(outcomes)); err != nil {
		w.b.Error(err)
	}
	w.left.Add(-len(outcomes))
}
