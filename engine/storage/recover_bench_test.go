package storage

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/queue"
)

// BenchmarkRecover recovers a store with leased tasks, as a new leader does before it answers
// commands. For each leased task, 99 tasks were completed.
func BenchmarkRecover(b *testing.B) {
	for _, leased := range []int{1_000, 10_000} {
		b.Run(fmt.Sprintf("leased=%d", leased), func(b *testing.B) {
			s, err := Open("shard", Options{FS: vfs.NewMem(), Durability: None})
			require.NoError(b, err)
			defer func() { require.NoError(b, s.Close()) }()
			batch := s.NewBatch()
			const perLease = 100
			for first := 0; first < 100*leased; first += perLease {
				refs := make([]queue.LeaseRef, perLease)
				for i := range refs {
					refs[i] = queue.LeaseRef{Ref: queue.Ref{Queue: 1, Priority: 4, Seq: uint64(first + i)}, Attempt: 1, LeaseMs: 5_000, ExpiresAtMs: 5_000}
					batch.PutTask(refs[i].Ref, queue.Task{Payload: make([]byte, 64)})
				}
				batch.PutLease(uint64(1+first/perLease), refs, 0)
				if first < 99*leased {
					for i := range refs {
						batch.DropTask(refs[i].Ref)
					}
					batch.DropLease(uint64(1 + first/perLease))
				}
				_, err := batch.Submit()
				require.NoError(b, err)
			}
			for b.Loop() {
				got, err := s.Recover()
				require.NoError(b, err)
				require.Len(b, got.Leases, leased/perLease)
			}
		})
	}
}

// BenchmarkRecoverAfterLeases recovers a store whose leases ended since its last flush, with and
// without SkipEndedLeases.
func BenchmarkRecoverAfterLeases(b *testing.B) {
	for _, skipped := range []bool{false, true} {
		b.Run(fmt.Sprintf("skipped=%t", skipped), func(b *testing.B) {
			s, err := Open("shard", Options{FS: vfs.NewMem(), Durability: None, Replicated: true})
			require.NoError(b, err)
			defer func() { require.NoError(b, s.Close()) }()
			var index uint64
			apply := func(do func(*Batch)) {
				p := &paper{}
				batch := s.NewReplicatedBatch(p, Tenure{Term: 1, ID: 1})
				batch.head.seq = index
				do(batch)
				_, err := batch.Submit()
				require.NoError(b, err)
				index++
				_, err = s.Apply([]LogEntry{{Index: index + 1, Term: 1, Data: p.entries[0]}})
				require.NoError(b, err)
			}
			_, err = s.Apply([]LogEntry{{Index: 1, Term: 1, Data: Tenure{Term: 1, ID: 1}.Begin()}})
			require.NoError(b, err)
			const ended = 100_000
			for id := uint64(1); id <= ended; id++ {
				ref := queue.LeaseRef{Ref: queue.Ref{Queue: 1, Priority: 4, Seq: id}, Attempt: 1, LeaseMs: 5_000, ExpiresAtMs: 5_000}
				apply(func(batch *Batch) { batch.PutLease(id, []queue.LeaseRef{ref}, 0) })
				if id < ended {
					apply(func(batch *Batch) { batch.DropLease(id) })
				}
			}
			if skipped {
				require.NoError(b, s.SkipEndedLeases())
			}
			for b.Loop() {
				got, err := s.Recover()
				require.NoError(b, err)
				require.Len(b, got.Leases, 1)
			}
		})
	}
}
