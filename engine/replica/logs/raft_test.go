package logs

import (
	"encoding/binary"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/require"
)

// sum is a state machine that adds numbers.
type sum struct{ n atomic.Uint64 }

func (s *sum) Apply(l *raft.Log) any { return s.n.Add(binary.BigEndian.Uint64(l.Data)) }

func (s *sum) Snapshot() (raft.FSMSnapshot, error) { return sumSnapshot(s.n.Load()), nil }

func (s *sum) Restore(r io.ReadCloser) error {
	var b [8]byte
	_, err := io.ReadFull(r, b[:])
	s.n.Store(binary.BigEndian.Uint64(b[:]))
	return err
}

type sumSnapshot uint64

func (s sumSnapshot) Persist(sink raft.SnapshotSink) error {
	if _, err := sink.Write(binary.BigEndian.AppendUint64(nil, uint64(s))); err != nil {
		return err
	}
	return sink.Close()
}

func (sumSnapshot) Release() {}

// Raft runs on the logs: it elects a leader, stores, truncates, and continues after a restart of
// the store.
func TestRaftRunsOnTheLogs(t *testing.T) {
	fs, snapshots := vfs.NewMem(), raft.NewInmemSnapshotStore()
	const n = 200
	var want uint64
	for run := range uint64(3) {
		s := open(t, fs, Options{})
		g := s.Group(1)
		config := raft.DefaultConfig()
		config.LocalID, config.LogOutput = "n1", io.Discard
		config.HeartbeatTimeout, config.ElectionTimeout, config.LeaderLeaseTimeout = 50*time.Millisecond, 50*time.Millisecond, 50*time.Millisecond
		config.TrailingLogs = 20
		address, transport := raft.NewInmemTransport("")
		if run == 0 {
			require.NoError(t, raft.BootstrapCluster(config, g, g, snapshots, transport, raft.Configuration{
				Servers: []raft.Server{{ID: "n1", Address: address}},
			}))
		}
		existing, err := raft.HasExistingState(g, g, snapshots)
		require.NoError(t, err)
		require.True(t, existing)
		fsm := &sum{}
		r, err := raft.NewRaft(config, fsm, g, g, snapshots, transport)
		require.NoError(t, err)
		require.True(t, <-r.LeaderCh())
		require.NoError(t, r.Barrier(0).Error())
		require.Equal(t, want, fsm.n.Load())
		for i := range uint64(n) {
			want += i
			require.NoError(t, r.Apply(binary.BigEndian.AppendUint64(nil, i), 0).Error())
		}
		require.NoError(t, r.Snapshot().Error())
		first, err := g.FirstIndex()
		require.NoError(t, err)
		require.Greater(t, first, (run+1)*n-config.TrailingLogs)
		require.NoError(t, r.Shutdown().Error())
		require.NoError(t, transport.Close())
		voted, err := g.GetUint64(term)
		require.NoError(t, err)
		require.Greater(t, voted, run)
		closeStore(t, s)
	}
}
