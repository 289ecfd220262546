package storage

import (
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/queue"
)

// In addition to the decoders of records (codec_test.go), this function reads untrusted input.

// A place from an untrusted client never shows another queue's tasks and causes no damage.
func FuzzListPlace(f *testing.F) {
	fs := vfs.NewMem()
	s, err := Open("shard", Options{FS: fs, Durability: Sync})
	require.NoError(f, err)
	f.Cleanup(func() { require.NoError(f, s.Close()) })
	b := s.NewBatch()
	for _, id := range []uint32{0, 1, 2} {
		for seq := range uint64(3) {
			ref := queue.Ref{Queue: id, Seq: seq}
			b.PutTask(ref, queue.Task{})
			b.PutDue(ref, queue.DelayedLane(0), queue.Due{DueAtMs: 5})
			b.PutDead(ref, queue.Dead{})
		}
	}
	c, err := b.Submit()
	require.NoError(f, err)
	require.NoError(f, c.Wait())
	for _, place := range []string{"", "t", "t\x00\x00\x00\x01", "t\x00\x00\x00\x01\x00", "d\x00\x00\x00\x01\xff\xff", "x\x00\x00\x00\x02\x00", "t\x00\x00\x00\x01" + strings.Repeat("\xff", 40)} {
		f.Add([]byte(place))
	}
	f.Fuzz(func(t *testing.T, place []byte) {
		p := Page{After: place, Limit: 2, LookMax: 3}
		for _, list := range []func() ([]Listed, Place, error){
			func() ([]Listed, Place, error) { return s.ListReady(1, [queue.MaxPriority + 1]uint64{}, 9, p) },
			func() ([]Listed, Place, error) { return s.ListReturned(1, 0, 9, p) },
			func() ([]Listed, Place, error) { return s.ListDead(1, p) },
		} {
			listed, next, err := list()
			if err != nil {
				require.ErrorIs(t, err, ErrPlace)
				continue
			}
			for _, l := range listed {
				require.Equal(t, uint32(1), l.Ref.Queue)
			}
			if len(next) > 0 {
				require.Greater(t, string(next), string(place), "the list advances")
			}
		}
	})
}
