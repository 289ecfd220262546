package storage

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/queue"
)

// BenchmarkCommit compares one commit of N commands, as a shard commits all waiting commands, with
// N commits of one command that wait for each other in turn. A command stores a task and removes an
// earlier one, so that the store does not grow. One operation is N commands. The store is in the
// temporary folder: set TMPDIR to a folder on the disk to measure.
func BenchmarkCommit(b *testing.B) {
	for _, d := range []Durability{None, Sync} {
		for _, commands := range []int{1, 16, 64} {
			for _, perCommit := range slices.Compact([]int{1, commands}) {
				b.Run(fmt.Sprintf("durability=%s/commands=%d/commits=%d", d, commands, commands/perCommit), func(b *testing.B) {
					benchmarkCommit(b, d, commands, perCommit)
				})
			}
		}
	}
}

func benchmarkCommit(b *testing.B, d Durability, commands, perCommit int) {
	s, err := Open(b.TempDir(), Options{Durability: d})
	require.NoError(b, err)
	defer func() { require.NoError(b, s.Close()) }()
	const kept = 64
	batch, record, payload := s.NewBatch(), queue.Record{ID: 1, Tenant: "t", Name: "q"}, make([]byte, 64)
	operation := func() {
		for done := 0; done < commands; done += perCommit {
			for range perCommit {
				batch.PutFresh(seqRef(record.NextSeq), queue.Task{Payload: payload})
				if record.NextSeq >= kept {
					batch.DropTask(seqRef(record.NextSeq - kept))
				}
				record.NextSeq++
			}
			batch.PutQueue(&record)
			c, err := batch.Submit()
			require.NoError(b, err)
			require.NoError(b, c.Wait())
		}
	}
	operation()
	bytes, fsyncs := s.PebbleMetrics().LogBytes, s.Counters().LogFsyncs
	for b.Loop() {
		operation()
	}
	tasks := float64(b.N) * float64(commands)
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/tasks, "ns/task")
	b.ReportMetric(float64(s.PebbleMetrics().LogBytes-bytes)/tasks, "log-bytes/task")
	b.ReportMetric(float64(s.Counters().LogFsyncs-fsyncs)/tasks, "fsyncs/task")
}
