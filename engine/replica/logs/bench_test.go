package logs

import (
	"fmt"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/storage"
)

// The benchmark uses a log like Raft: it appends entries of 16 KiB, one at a time, and truncates
// the log to a quarter whenever it reaches 16 MiB. All groups run concurrently.
func BenchmarkAppend(b *testing.B) {
	for _, d := range []storage.Durability{storage.None, storage.Sync} {
		for _, groups := range []int{1, 4} {
			b.Run(fmt.Sprintf("durability=%s/groups=%d", d, groups), func(b *testing.B) {
				s, err := Open(b.TempDir(), Options{Durability: d})
				require.NoError(b, err)
				defer closeStore(b, s)
				benchmarkAppend(b, groups, func(n uint16) raft.LogStore { return s.Group(n) })
				c, m := s.Counters(), s.db.Metrics()
				b.ReportMetric(float64(c.Syncs)/float64(c.Appends), "fsyncs/op")
				b.ReportMetric(float64(m.WAL.BytesWritten+m.Levels[0].TableBytesFlushed)/float64(c.Bytes), "written/appended")
			})
		}
	}
}

const (
	benchEntry    = 16 << 10
	benchLogMax   = 16 << 20 / benchEntry
	benchLogAfter = benchLogMax / 4
)

func benchmarkAppend(b *testing.B, groups int, group func(uint16) raft.LogStore) {
	b.SetBytes(benchEntry)
	data := make([]byte, benchEntry)
	for i := range data {
		data[i] = byte(i * 7)
	}
	b.ResetTimer()
	var wg sync.WaitGroup
	for n := range groups {
		wg.Go(func() {
			log, first := group(uint16(n)), uint64(1)
			for i := uint64(1); i <= uint64((b.N+groups-1)/groups); i++ {
				if err := log.StoreLogs([]*raft.Log{{Index: i, Term: 1, Data: data}}); err != nil {
					b.Error(err)
					return
				}
				if i-first == benchLogMax {
					if err := log.DeleteRange(first, i-benchLogAfter); err != nil {
						b.Error(err)
						return
					}
					first = i - benchLogAfter + 1
				}
			}
		})
	}
	wg.Wait()
	b.StopTimer()
}

// Replication to a slow follower reads entries sequentially, from memory or from tables.
func BenchmarkRead(b *testing.B) {
	for _, where := range []string{"memtable", "table"} {
		b.Run("from="+where, func(b *testing.B) {
			s := open(b, vfs.NewMem(), Options{})
			defer closeStore(b, s)
			const n = 1000
			g := s.Group(0)
			require.NoError(b, g.StoreLogs(entries(1, n, 1, benchEntry)))
			if where == "table" {
				require.NoError(b, s.db.Flush())
			}
			b.SetBytes(benchEntry)
			var l raft.Log
			for i := 0; b.Loop(); i++ {
				if err := g.GetLog(uint64(i%n)+1, &l); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
