package shard

import (
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/queue"
)

// Ready tasks are listed in claim order, for any page size, also after they were moved.
func TestReadyTasksAreListedInTheOrderOfClaims(t *testing.T) {
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 3))
		f := start(t, vfs.NewMem(), Options{Queue: queue.Config{WindowTasks: 4}})
		var refs []queue.Ref
		for range 12 {
			tasks := make([]queue.NewTask, 1+r.IntN(8))
			for i := range tasks {
				tasks[i] = queue.NewTask{Queue: "q", Priority: uint8(r.IntN(3)), DelayMs: []uint64{0, 0, 3, 9}[r.IntN(4)]}
			}
			refs = append(refs, f.enqueue(tasks...)...)
			for _, d := range f.claim(r.IntN(4), "q") {
				f.end(d, queue.Release)
			}
			for range 3 {
				_ = f.changed(Prioritize(uint8(r.IntN(4))), refs[r.IntN(len(refs))])
				_ = f.changed(Reschedule(f.nowMs.Load()+int64(r.IntN(9))), refs[r.IntN(len(refs))])
			}
			f.pass(int64(r.IntN(3)))
		}
		f.pass(5)
		var want, got []queue.Ref
		for _, found := range f.listAll(List{State: Ready, Limit: 1 + r.IntN(7)}) {
			want = append(want, found.Ref)
		}
		for {
			ds := f.claim(20, "q")
			if len(ds) == 0 {
				break
			}
			for _, d := range ds {
				got = append(got, d.Ref)
			}
		}
		require.Equal(t, got, want, "seed %d", seed)
		f.stop()
	}
}
