package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/rpc/admin"
	"github.com/pronybench/prony/engine/rpc/route"
)

// noted is a cluster with a fixed status that records changes.
type noted struct {
	route.Changes

	status  route.ClusterStatus
	refuse  error
	changes []route.ClusterChange // without the caller
	by      route.Caller          // the latest caller
}

func (*noted) Self() string                           { return "n1" }
func (*noted) Leader(int) string                      { return "n1" }
func (*noted) Outage() string                         { return "" }
func (*noted) Member(string) (m route.Member, _ bool) { return m, false }
func (*noted) Conn(node string) (grpc.ClientConnInterface, error) {
	return nil, fmt.Errorf("%s is no member", node)
}

func (c *noted) Status(context.Context) (route.ClusterStatus, error) { return c.status, c.refuse }

func (c *noted) Change(_ context.Context, change route.ClusterChange) error {
	c.by, change.By = change.By, route.Caller{}
	c.changes = append(c.changes, change)
	return c.refuse
}

// inCluster returns a server of a cluster, the cluster, and an operator's client. Calls must be
// sequential.
func inCluster(t *testing.T) (*guarded, *noted, adminpb.AdminServiceClient) {
	t.Helper()
	g, c := guard(t), &noted{}
	g.admin.(*admin.Service).InCluster(route.New(c, g.group))
	return g, c, g.operator()
}

func (g *guarded) operator() adminpb.AdminServiceClient {
	g.Helper()
	_, secret := g.token(access.AllTenants, access.AllScopes)
	return adminpb.NewAdminServiceClient(g.dial(secret))
}

func TestTheClustersStatus(t *testing.T) {
	g, c, api := inCluster(t)
	c.status = route.ClusterStatus{
		Node: "n1",
		Members: []route.Member{
			{Node: "n1", PeerAddress: "a:1", Address: "a:2", HTTP: "a:3", Admin: "a:4", Voter: true, Reachable: true, Version: "v1"},
			{Node: "n2", PeerAddress: "b:1", LastAnswer: time.UnixMilli(1_700_000_000_123)},
		},
		Outage: "1 of 2 nodes is there",
		Groups: []route.GroupStatus{{
			Shard: 3, Leader: "n1", Term: 4, LastIndex: 5, CommitIndex: 6,
			Replicas: []route.ReplicaStatus{{Node: "n1", LastIndex: 7, AppliedIndex: 8, SnapshotIndex: 9}},
		}, {Shard: 4}},
	}
	out, err := api.GetCluster(g.ctx, &adminpb.GetClusterRequest{})
	require.NoError(t, err)
	assert.True(t, proto.Equal(&adminpb.GetClusterResponse{
		Node: "n1",
		Members: []*adminpb.ClusterMember{
			{Node: "n1", PeerAddress: "a:1", Address: "a:2", Http: "a:3", Admin: "a:4", Voter: true, Reachable: true, Version: "v1"},
			{Node: "n2", PeerAddress: "b:1", LastAnswerMs: 1_700_000_000_123},
		},
		Outage: "1 of 2 nodes is there",
		Groups: []*adminpb.ClusterGroup{{
			Shard: 3, Leader: "n1", Term: 4, LastIndex: 5, CommitIndex: 6,
			Replicas: []*adminpb.ClusterReplica{{Node: "n1", LastIndex: 7, AppliedIndex: 8, SnapshotIndex: 9}},
		}, {Shard: 4}},
	}, out), "%v", out)
	c.refuse = context.DeadlineExceeded
	_, err = api.GetCluster(g.ctx, &adminpb.GetClusterRequest{})
	requireCode(t, codes.DeadlineExceeded, err)
}

func TestEachChangeOfTheCluster(t *testing.T) {
	g, c, api := inCluster(t)
	shard0 := proto.Uint32(0)
	for want, call := range map[route.ClusterChange]func() error{
		{Kind: route.AddMember, Node: "n4", Address: "d:1", Voter: true, Shard: route.AllShards}: func() error {
			_, err := api.AddMember(g.ctx, &adminpb.AddMemberRequest{Node: "n4", Address: "d:1"})
			return err
		},
		{Kind: route.AddMember, Node: "n5", Address: "[::1]:65535", Shard: route.AllShards}: func() error {
			_, err := api.AddMember(g.ctx, &adminpb.AddMemberRequest{Node: "n5", Address: "[::1]:65535", Nonvoter: true})
			return err
		},
		{Kind: route.RemoveMember, Node: "n4", Shard: route.AllShards}: func() error {
			_, err := api.RemoveMember(g.ctx, &adminpb.RemoveMemberRequest{Node: "n4"})
			return err
		},
		{Kind: route.PromoteMember, Node: "n5", Shard: route.AllShards}: func() error {
			_, err := api.PromoteMember(g.ctx, &adminpb.PromoteMemberRequest{Node: "n5"})
			return err
		},
		{Kind: route.DemoteMember, Node: "n5", Shard: route.AllShards}: func() error {
			_, err := api.DemoteMember(g.ctx, &adminpb.DemoteMemberRequest{Node: "n5"})
			return err
		},
		{Kind: route.TransferLeadership, Node: "n2", Shard: 0}: func() error {
			_, err := api.TransferLeadership(g.ctx, &adminpb.TransferLeadershipRequest{Shard: shard0, Node: "n2"})
			return err
		},
		{Kind: route.TransferLeadership, Shard: route.AllShards}: func() error {
			_, err := api.TransferLeadership(g.ctx, &adminpb.TransferLeadershipRequest{})
			return err
		},
		{Kind: route.TakeSnapshot, Shard: 0}: func() error {
			_, err := api.TakeSnapshot(g.ctx, &adminpb.TakeSnapshotRequest{Shard: shard0})
			return err
		},
		{Kind: route.TakeSnapshot, Shard: route.AllShards}: func() error {
			_, err := api.TakeSnapshot(g.ctx, &adminpb.TakeSnapshotRequest{})
			return err
		},
	} {
		c.changes, c.refuse = nil, nil
		require.NoError(t, call(), "%+v", want)
		assert.Equal(t, []route.ClusterChange{want}, c.changes)
		assert.NotEmpty(t, c.by.Token, "the change has its caller's token")
		assert.Equal(t, "bufconn", c.by.Address, "the change has its caller's address")
		c.refuse = &route.ChangeError{Field: "node", Problem: "is there already"}
		requireField(t, "node", call())
		c.refuse = fmt.Errorf("group 0: %w", &route.ChangeError{Problem: "it is the last voter: add another first"})
		err := call()
		requireCode(t, codes.FailedPrecondition, err)
		assert.Equal(t, "it is the last voter: add another first", status.Convert(err).Message())
		c.refuse = context.Canceled
		requireCode(t, codes.Canceled, call())
		c.refuse = fmt.Errorf("at n2: %w", status.Error(codes.Unavailable, "it stops"))
		err = call()
		requireCode(t, codes.Unavailable, err)
		assert.Equal(t, "it stops", status.Convert(err).Message())
		c.refuse = errors.New("disk")
		requireCode(t, codes.Internal, call())
	}
}

// TestBadClusterCalls passes invalid values for each field of each call.
func TestBadClusterCalls(t *testing.T) {
	g, c, api := inCluster(t)
	for _, id := range []string{"", "N1", "n 1", "n_1", "ä", strings.Repeat("n", 33), "n1\x00"} {
		_, err := api.AddMember(g.ctx, &adminpb.AddMemberRequest{Node: id, Address: "a:1"})
		requireField(t, "node", err)
		_, err = api.RemoveMember(g.ctx, &adminpb.RemoveMemberRequest{Node: id})
		requireField(t, "node", err)
		_, err = api.PromoteMember(g.ctx, &adminpb.PromoteMemberRequest{Node: id})
		requireField(t, "node", err)
		_, err = api.DemoteMember(g.ctx, &adminpb.DemoteMemberRequest{Node: id})
		requireField(t, "node", err)
		if id != "" { // empty means any node
			_, err = api.TransferLeadership(g.ctx, &adminpb.TransferLeadershipRequest{Node: id})
			requireField(t, "node", err)
		}
	}
	for _, address := range []string{
		"", "a", "a:", ":1", "a:0", "a:65536", "a:-1", "a:http", "::1:1", "0.0.0.0:1", "[::]:1", "a b:1", "unix:/s", strings.Repeat("a", 254) + ":1",
	} {
		_, err := api.AddMember(g.ctx, &adminpb.AddMemberRequest{Node: "n4", Address: address})
		requireField(t, "address", err)
		assert.Less(t, len(err.Error()), 200)
	}
	for _, shard := range []uint32{1, 1<<32 - 1} {
		_, err := api.TransferLeadership(g.ctx, &adminpb.TransferLeadershipRequest{Shard: &shard, Node: "n2"})
		requireField(t, "shard", err)
		_, err = api.TakeSnapshot(g.ctx, &adminpb.TakeSnapshotRequest{Shard: &shard})
		requireField(t, "shard", err)
	}
	assert.Empty(t, c.changes, "a refused call has no effect")
}

func TestAServerThatStandsAloneHasNoCluster(t *testing.T) {
	g := guard(t)
	api := g.operator()
	out, err := api.GetCluster(g.ctx, &adminpb.GetClusterRequest{})
	require.NoError(t, err)
	assert.True(t, proto.Equal(&adminpb.GetClusterResponse{}, out), "%v", out)
	for name, call := range map[string]func() error{
		"add": func() error {
			_, err := api.AddMember(g.ctx, &adminpb.AddMemberRequest{Node: "n1", Address: "a:1"})
			return err
		},
		"remove": func() error {
			_, err := api.RemoveMember(g.ctx, &adminpb.RemoveMemberRequest{Node: "n1"})
			return err
		},
		"promote": func() error {
			_, err := api.PromoteMember(g.ctx, &adminpb.PromoteMemberRequest{Node: "n1"})
			return err
		},
		"demote": func() error {
			_, err := api.DemoteMember(g.ctx, &adminpb.DemoteMemberRequest{Node: "n1"})
			return err
		},
		"transfer": func() error {
			_, err := api.TransferLeadership(g.ctx, &adminpb.TransferLeadershipRequest{})
			return err
		},
		"snapshot": func() error {
			_, err := api.TakeSnapshot(g.ctx, &adminpb.TakeSnapshotRequest{})
			return err
		},
	} {
		err := call()
		assert.Equal(t, codes.FailedPrecondition, status.Code(err), name)
		assert.Contains(t, err.Error(), "is a standalone server: start it with --cluster-node", name)
	}
}

// Exactly the known kinds of changes have words.
func TestChangeKindsHaveWords(t *testing.T) {
	seen := map[string]bool{}
	for k := route.AddMember; k <= route.TakeSnapshot; k++ {
		seen[k.String()] = true
	}
	assert.Len(t, seen, 6)
	assert.Equal(t, "transfer leadership", route.TransferLeadership.String())
	assert.Equal(t, "unknown change", route.ChangeKind(0).String())
	assert.Equal(t, "unknown change", (route.TakeSnapshot + 1).String())
	assert.Equal(t, "node: is there", (&route.ChangeError{Field: "node", Problem: "is there"}).Error())
	assert.Equal(t, "no quorum", (&route.ChangeError{Problem: "no quorum"}).Error())
}
