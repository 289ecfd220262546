package storage

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/queue"
)

// TestYoungTasksSurviveCrashes puts and drops tasks and leases with small bounds, so that logs are begun often and records are stored
// while others come, and crashes the disk at random moments: each crash keeps exactly what was committed.
func TestYoungTasksSurviveCrashes(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 1))
			fs := vfs.NewCrashableMem()
			o := Options{Durability: Sync, YoungLogBytes: 4 << 10, YoungBytes: 8 << 10, MemTableBytes: 64 << 10}
			tasks, leases, next, batch := map[uint64]string{}, map[uint64]bool{}, uint64(1), uint64(1)
			for range 6 {
				o.FS = fs
				s, err := Open("store", o)
				require.NoError(t, err)
				requireYoung(t, s, tasks, leases)
				b := s.NewBatch()
				for range 20 + rnd.IntN(200) {
					for range rnd.IntN(8) {
						text := fmt.Sprint("payload ", next)
						b.PutFresh(seqRef(next), queue.Task{Payload: []byte(text)})
						tasks[next] = text
						next++
					}
					for seq := range tasks {
						if rnd.IntN(3) > 0 && seq%17 != 0 {
							b.DropTask(seqRef(seq))
							delete(tasks, seq)
						}
						if rnd.IntN(6) == 0 {
							break
						}
					}
					if rnd.IntN(2) == 0 {
						b.PutLease(batch, []queue.LeaseRef{{Ref: seqRef(batch), Attempt: 1}})
						leases[batch] = true
						batch++
					}
					for id := range leases {
						if rnd.IntN(2) == 0 {
							b.DropLease(id)
							delete(leases, id)
						} else if rnd.IntN(4) == 0 {
							b.PutLease(id, []queue.LeaseRef{{Ref: seqRef(id), Attempt: 2}})
						}
						break
					}
					if b.Empty() {
						continue
					}
					c, err := b.Submit()
					require.NoError(t, err)
					require.NoError(t, c.Wait())
				}
				requireYoung(t, s, tasks, leases)
				if rnd.IntN(4) == 0 {
					require.NoError(t, s.Close())
					continue
				}
				crashed := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rnd.IntN(101), RNG: rnd})
				require.NoError(t, s.Close())
				fs = crashed
			}
		})
	}
}

func requireYoung(t *testing.T, s *Store, tasks map[uint64]string, leases map[uint64]bool) {
	t.Helper()
	stored := map[uint64]string{}
	found, _, err := s.Fresh(queue.Refill{Queue: seqRef(0).Queue, Priority: seqRef(0).Priority, Limit: 1 << 30, PayloadBytesMax: 1 << 30})
	require.NoError(t, err)
	for _, one := range found {
		stored[one.Seq] = string(one.Task.Payload)
	}
	require.Equal(t, tasks, stored)
	for seq, text := range tasks {
		task, found, err := s.Task(seqRef(seq))
		require.NoError(t, err)
		require.True(t, found)
		require.Equal(t, text, string(task.Payload))
	}
	held := map[uint64]bool{}
	require.NoError(t, scanLeases(s.live(), 0, func(l queue.RecoveredLease) (bool, error) {
		held[l.Batch] = true
		return true, nil
	}))
	require.Equal(t, leases, held)
}
