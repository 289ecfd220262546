package cluster

import (
	"bytes"
	"context"
	"errors"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"

	"github.com/pronybench/prony/engine/peerpb"
	"github.com/pronybench/prony/engine/rpc/route"
	"github.com/pronybench/prony/engine/storage/disk"
)

// directoryOf returns a directory of voters at the given addresses, by ID.
func directoryOf(addresses map[string]string) *directory {
	d := newDirectory()
	var voters []string
	for id := range addresses {
		voters = append(voters, id)
	}
	d.update(addresses, voters, began)
	return &d
}

func TestAnAnswerIsRemembered(t *testing.T) {
	d := directoryOf(map[string]string{"n1": "a:1", "n2": "b:1"})
	info := &peerpb.GetInfoResponse{
		Address: "b:2", Http: "b:3", Admin: "b:4", Version: "v1", ClockProblem: "its clock", DiskState: uint32(disk.SpaceLow), DiskFreeBytes: 7,
	}
	moved, _ := d.note("n2", info, nil, began.Add(time.Second))
	assert.True(t, moved)
	m, _ := d.Member("n2")
	assert.Equal(t, []any{"b:2", "b:3", "b:4", "v1", "its clock", DiskState(disk.SpaceLow), uint64(7), true, began.Add(time.Second)},
		[]any{m.Address, m.HTTP, m.Admin, m.Version, m.ClockProblem, m.Disk, m.DiskFree, m.Reachable, m.LastAnswer})

	moved, _ = d.note("n2", nil, errRefused, began.Add(2*time.Second))
	assert.False(t, moved, "its addresses stay")
	before := m
	m, _ = d.Member("n2")
	before.Reachable = false
	assert.Equal(t, before, m, "an absent member keeps its last report")

	info.Admin = "b:5"
	moved, _ = d.note("n2", info, nil, began.Add(3*time.Second))
	assert.False(t, moved, "clients do not use the address")
	info.Http = "b:6"
	moved, _ = d.note("n2", info, nil, began.Add(4*time.Second))
	assert.True(t, moved)

	moved, line := d.note("n3", info, nil, began)
	assert.False(t, moved)
	assert.Nil(t, line)
	_, member := d.Member("n3")
	assert.False(t, member, "the answer of a node that was just removed")
}

func TestUpdatesKeepWhatIsKnown(t *testing.T) {
	d := directoryOf(map[string]string{"n1": "a:1", "n2": "b:1"})
	d.note("n2", &peerpb.GetInfoResponse{Version: "v1"}, nil, began)
	changes := d.update(map[string]string{"n2": "b:9", "n3": "c:1"}, []string{"n3"}, began)
	assert.Len(t, changes, 3, "a member lost its vote, one came, and one left")
	m, _ := d.Member("n2")
	assert.Equal(t, []any{"v1", "b:9", false, true}, []any{m.Version, m.PeerAddress, m.Voter, m.Reachable})
	ids := d.ids()
	slices.Sort(ids)
	assert.Equal(t, []string{"n2", "n3"}, ids)
	if voters := d.voters(); assert.Len(t, voters, 1) {
		assert.Equal(t, "n3", voters[0].Node)
	}
	assert.Len(t, d.allMembers(), 2)
	assert.Len(t, d.presence, 2)
}

// A member may lead more only if it answers and its disk has space. Nodes of older versions report
// no disk.
func TestMembersWithSpace(t *testing.T) {
	d := directoryOf(map[string]string{"n1": "a:1", "n2": "b:1"})
	assert.False(t, d.hasSpace("n2"), "it has not answered")
	for state := disk.SpaceOK; state <= disk.SpaceExhausted; state++ {
		d.note("n2", &peerpb.GetInfoResponse{DiskState: uint32(state)}, nil, began)
		assert.Equal(t, state == disk.SpaceOK, d.hasSpace("n2"), state)
	}
	assert.False(t, d.hasSpace("n9"))
}

// Connections end when their member is removed, and when the node stops.
func TestConnectionsEndWithTheirMember(t *testing.T) {
	p := &peers{directory: newDirectory()}
	p.update(map[string]string{"n1": "a:1", "n2": "b:1", "n3": "c:1"}, []string{"n1", "n2", "n3"}, began)
	second, err := p.conn("n2")
	require.NoError(t, err)
	again, err := p.conn("n2")
	require.NoError(t, err)
	assert.Same(t, second, again)
	third, err := p.conn("n3")
	require.NoError(t, err)
	_, err = p.conn("n4")
	require.ErrorContains(t, err, `node "n4" is not a member of the cluster`)

	p.update(map[string]string{"n1": "a:1", "n3": "c:1"}, []string{"n1", "n3"}, began)
	assert.Equal(t, connectivity.Shutdown, second.GetState())
	assert.NotEqual(t, connectivity.Shutdown, third.GetState())
	_, err = p.conn("n2")
	require.ErrorContains(t, err, `node "n2" is not a member of the cluster`)
	require.NoError(t, p.closeConns())
	assert.Equal(t, connectivity.Shutdown, third.GetState())
	_, err = p.Conn("n3")
	assert.ErrorIs(t, err, errClosed)
}

// A call to an unreachable node fails with the error of the dial.
func TestACallReportsTheErrorOfItsDial(t *testing.T) {
	c, err := newConn(func(context.Context) (net.Conn, error) { return nil, errors.New("no route") })
	require.NoError(t, err)
	_, err = peerpb.NewPeerServiceClient(c).GetInfo(t.Context(), &peerpb.GetInfoRequest{}, grpc.WaitForReady(false))
	assert.ErrorContains(t, err, "no route")
	require.NoError(t, c.Close())
}

// A query of this node itself makes no call. It tells callers when clients must use new addresses.
func TestANodeQueriesItself(t *testing.T) {
	var log bytes.Buffer
	d, err := openIdentity(t.TempDir(), false)
	require.NoError(t, err)
	info, problem := &peerpb.GetInfoResponse{Address: "a:2", Incarnation: "x", Groups: []*peerpb.Group{{AppliedIndex: 1}}}, error(nil)
	p := &peers{
		directory: newDirectory(), groups: &groups{node: "n1"}, changes: &route.Changes{}, identity: d, log: textLog(&log), ctx: t.Context(),
		ownInfo: func() (*peerpb.GetInfoResponse, error) { return info, problem },
	}
	p.update(map[string]string{"n1": "a:1"}, []string{"n1"}, time.Now())
	before, _ := p.changes.Version()
	got, err := p.query(t.Context(), "n1")
	require.NoError(t, err)
	assert.Same(t, info, got)
	moved, _ := p.changes.Version()
	assert.NotEqual(t, before, moved)
	assert.Empty(t, d.seen("n1"), "its own data folder is not another node's")

	problem = errRefused
	_, err = p.query(t.Context(), "n1")
	require.ErrorIs(t, err, errRefused)
	m, _ := p.Member("n1")
	assert.Equal(t, []any{"a:2", false}, []any{m.Address, m.Reachable})
	same, _ := p.changes.Version()
	assert.Equal(t, moved, same)
	assert.Empty(t, log.String(), "a node does not log that it is absent itself")
}

// Group 0 stores the access records.
func TestOnlyGroup0ChangesTheAccessRecords(t *testing.T) {
	f := &accessFollower{systemChanged: make(chan struct{}, 1)}
	h := &replicaHost{access: f}
	h.SystemChanged(1)
	assert.Empty(t, f.systemChanged)
	h.SystemChanged(0)
	h.SystemChanged(0) // does not wait for the first to be handled
	assert.Len(t, f.systemChanged, 1)
}
