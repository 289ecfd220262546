package peer

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// transport returns Raft's transport over a group of a station.
func transport(t *testing.T, s *station, group uint16) *raft.NetworkTransport {
	t.Helper()
	out := raft.NewNetworkTransportWithConfig(&raft.NetworkTransportConfig{
		ServerAddressProvider: s, Stream: s.Group(group), MaxPool: 3, MaxRPCsInFlight: 4, Timeout: patience,
		Logger: hclog.New(&hclog.LoggerOptions{Output: io.Discard}),
	})
	t.Cleanup(func() {
		out.CloseStreams() // closes the idle connections in its pool
		require.NoError(t, out.Close())
	})
	return out
}

// follow answers requests to a transport until it is stopped.
func follow(t *testing.T, in *raft.NetworkTransport, group uint16) (appended func() uint64) {
	t.Helper()
	stop, done := make(chan struct{}), make(chan struct{})
	var last uint64
	go func() {
		defer close(done)
		for {
			select {
			case rpc := <-in.Consumer():
				switch c := rpc.Command.(type) {
				case *raft.AppendEntriesRequest:
					for _, e := range c.Entries {
						last = e.Index
						if string(e.Data) != fmt.Sprintf("group %d", group) {
							rpc.Respond(nil, fmt.Errorf("entry %d says %q", e.Index, e.Data))
							continue
						}
					}
					rpc.Respond(&raft.AppendEntriesResponse{RPCHeader: c.RPCHeader, Term: c.Term, LastLog: last, Success: true}, nil)
				case *raft.InstallSnapshotRequest:
					b, err := io.ReadAll(rpc.Reader)
					if err == nil && !bytes.Equal(b, snapshot) {
						err = errors.New("another snapshot")
					}
					rpc.Respond(&raft.InstallSnapshotResponse{Success: true}, err)
				}
			case <-stop:
				return
			}
		}
	}()
	end := sync.OnceFunc(func() { close(stop) })
	finish := func() uint64 {
		end()
		<-done
		return last
	}
	t.Cleanup(func() { finish() })
	return finish
}

var snapshot = bytes.Repeat([]byte("snapshot"), 100_000)

// Raft's transport runs over two groups of one listener per node.
func TestRaftSpeaksOverGroups(t *testing.T) {
	b := start(t, "n2")
	a := start(t, "n1", func(c *Config, _ *bounds) { c.Peers = map[string]string{"n2": b.Addr()} })
	const n, each = 50, 10
	for _, group := range []uint16{0, 1} {
		leader := transport(t, a, group)
		appended := follow(t, transport(t, b, group), group)
		assert.Equal(t, raft.ServerAddress(a.Addr()), leader.LocalAddr())
		assert.Equal(t, a.Addr(), string(leader.EncodePeer("n1", "x")))

		// The address in Raft's configuration is invalid: the configured peers take precedence.
		const nobody = "192.0.2.1:1"
		pipeline, err := leader.AppendEntriesPipeline("n2", nobody)
		require.NoError(t, err)
		futures := make(chan raft.AppendFuture, n)
		go func() {
			for range n {
				futures <- <-pipeline.Consumer()
			}
		}()
		for i := range uint64(n) {
			r := raft.AppendEntriesRequest{RPCHeader: raft.RPCHeader{ID: []byte("n1")}, Term: 3}
			for j := range uint64(each) {
				r.Entries = append(r.Entries, &raft.Log{Index: i*each + j + 1, Term: 3, Data: fmt.Appendf(nil, "group %d", group)})
			}
			_, err := pipeline.AppendEntries(&r, &raft.AppendEntriesResponse{})
			require.NoError(t, err)
		}
		for i := range uint64(n) {
			select {
			case f := <-futures:
				require.NoError(t, f.Error())
				assert.Equal(t, (i+1)*each, f.Response().LastLog)
			case <-time.After(patience):
				require.FailNow(t, "no answer")
			}
		}
		require.NoError(t, pipeline.Close())

		var installed raft.InstallSnapshotResponse
		require.NoError(t, leader.InstallSnapshot("n2", nobody, &raft.InstallSnapshotRequest{Size: int64(len(snapshot))}, &installed, bytes.NewReader(snapshot)))
		assert.True(t, installed.Success)
		assert.EqualValues(t, n*each, appended())
	}
	assert.Zero(t, a.Counters().Refused)
	assert.Zero(t, b.Counters().Refused)
}
