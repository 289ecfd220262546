package admin

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/internal/nodeid"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/rpc/call"
	"github.com/pronybench/prony/engine/rpc/route"
)

// clusterAdmin implements the admin service's calls on the cluster. Only operators may make them.
type clusterAdmin struct {
	cluster route.Cluster // nil without a cluster
	shards  func() int    // the number of shards
}

func clusterStatus(err error) error {
	var refused *route.ChangeError
	var elsewhere interface{ GRPCStatus() *status.Status }
	switch {
	case errors.As(err, &elsewhere): // the error comes from another node
		return elsewhere.GRPCStatus().Err()
	case !errors.As(err, &refused):
		return call.Status(err)
	case refused.Field != "":
		return call.Status(&queue.FieldError{Field: refused.Field, Problem: refused.Problem})
	}
	return status.Error(codes.FailedPrecondition, refused.Problem)
}

// GetCluster implements adminpb.AdminServiceServer.
func (a *clusterAdmin) GetCluster(ctx context.Context, _ *adminpb.GetClusterRequest) (*adminpb.GetClusterResponse, error) {
	if _, err := call.Operator(ctx); err != nil {
		return nil, call.Status(err)
	}
	if a.cluster == nil {
		return &adminpb.GetClusterResponse{}, nil
	}
	s, err := a.cluster.Status(ctx)
	if err != nil {
		return nil, clusterStatus(err)
	}
	out := &adminpb.GetClusterResponse{
		Node: s.Node, Members: make([]*adminpb.ClusterMember, len(s.Members)), Groups: make([]*adminpb.ClusterGroup, len(s.Groups)), Outage: s.Outage,
	}
	for i, m := range s.Members {
		out.Members[i] = &adminpb.ClusterMember{
			Node: m.Node, PeerAddress: m.PeerAddress, Address: m.Address, Http: m.HTTP, Admin: m.Admin,
			Voter: m.Voter, Reachable: m.Reachable, Version: m.Version, ClockProblem: m.ClockProblem, DiskState: m.Disk, DiskFreeBytes: m.DiskFree,
		}
		if !m.LastAnswer.IsZero() {
			out.Members[i].LastAnswerMs = m.LastAnswer.UnixMilli()
		}
		if m.Clock != nil {
			out.Members[i].ClockAheadUs, out.Members[i].ClockErrorUs = new(m.Clock.Ahead.Microseconds()), uint64(m.Clock.Error.Microseconds())
		}
	}
	for i, g := range s.Groups {
		out.Groups[i] = groupMessage(g)
	}
	return out, nil
}

func groupMessage(g route.GroupStatus) *adminpb.ClusterGroup {
	out := &adminpb.ClusterGroup{
		Shard: uint32(g.Shard), Leader: g.Leader, Term: g.Term, LastIndex: g.LastIndex, CommitIndex: g.CommitIndex,
		Replicas: make([]*adminpb.ClusterReplica, len(g.Replicas)),
	}
	for i, r := range g.Replicas {
		out.Replicas[i] = &adminpb.ClusterReplica{Node: r.Node, LastIndex: r.LastIndex, AppliedIndex: r.AppliedIndex, SnapshotIndex: r.SnapshotIndex}
	}
	return out
}

// execute returns the first error of checks. If all checks succeed, it passes the change to the
// cluster.
func (a *clusterAdmin) execute(ctx context.Context, c route.ClusterChange, checks ...error) error {
	by, err := call.Operator(ctx)
	if err != nil {
		return call.Status(err)
	}
	c.By = route.Caller{Token: by.TokenID, Address: call.RemoteAddress(ctx)}
	for _, err := range checks {
		if err != nil {
			return call.Status(err)
		}
	}
	if a.cluster == nil {
		return errStandsAlone
	}
	return clusterStatus(route.Explain(a.cluster, a.cluster.Change(ctx, c)))
}

func asField(field string, err error) error {
	if err == nil {
		return nil
	}
	return &queue.FieldError{Field: field, Problem: err.Error()}
}

func checkNode(id string) error { return asField("node", nodeid.Check(id)) }

// checkShard validates an optional shard number and returns it. If shard is nil, it returns
// route.AllShards.
func (a *clusterAdmin) checkShard(shard *uint32) (int, error) {
	if shard == nil {
		return route.AllShards, nil
	}
	if n := a.shards(); uint64(*shard) >= uint64(n) {
		return 0, &queue.FieldError{Field: "shard", Problem: fmt.Sprintf("must be 0 to %d, not %d: leave it out for all", n-1, *shard)}
	}
	return int(*shard), nil
}

// AddMember implements adminpb.AdminServiceServer.
func (a *clusterAdmin) AddMember(ctx context.Context, in *adminpb.AddMemberRequest) (*adminpb.AddMemberResponse, error) {
	c := route.ClusterChange{Kind: route.AddMember, Node: in.GetNode(), Address: in.GetAddress(), Voter: !in.GetNonvoter(), Shard: route.AllShards}
	err := a.execute(ctx, c, checkNode(c.Node), asField("address", nodeid.CheckAddress(c.Address)))
	if err != nil {
		return nil, err
	}
	return &adminpb.AddMemberResponse{}, nil
}

func (a *clusterAdmin) changeMember(ctx context.Context, kind route.ChangeKind, node string) error {
	return a.execute(ctx, route.ClusterChange{Kind: kind, Node: node, Shard: route.AllShards}, checkNode(node))
}

// RemoveMember implements adminpb.AdminServiceServer.
func (a *clusterAdmin) RemoveMember(ctx context.Context, in *adminpb.RemoveMemberRequest) (*adminpb.RemoveMemberResponse, error) {
	if err := a.changeMember(ctx, route.RemoveMember, in.GetNode()); err != nil {
		return nil, err
	}
	return &adminpb.RemoveMemberResponse{}, nil
}

// PromoteMember implements adminpb.AdminServiceServer.
func (a *clusterAdmin) PromoteMember(ctx context.Context, in *adminpb.PromoteMemberRequest) (*adminpb.PromoteMemberResponse, error) {
	if err := a.changeMember(ctx, route.PromoteMember, in.GetNode()); err != nil {
		return nil, err
	}
	return &adminpb.PromoteMemberResponse{}, nil
}

// DemoteMember implements adminpb.AdminServiceServer.
func (a *clusterAdmin) DemoteMember(ctx context.Context, in *adminpb.DemoteMemberRequest) (*adminpb.DemoteMemberResponse, error) {
	if err := a.changeMember(ctx, route.DemoteMember, in.GetNode()); err != nil {
		return nil, err
	}
	return &adminpb.DemoteMemberResponse{}, nil
}

// TransferLeadership implements adminpb.AdminServiceServer.
func (a *clusterAdmin) TransferLeadership(ctx context.Context, in *adminpb.TransferLeadershipRequest) (*adminpb.TransferLeadershipResponse, error) {
	shard, badShard := a.checkShard(in.Shard)
	var badNode error
	if in.GetNode() != "" {
		badNode = checkNode(in.GetNode())
	}
	err := a.execute(ctx, route.ClusterChange{Kind: route.TransferLeadership, Node: in.GetNode(), Shard: shard}, badNode, badShard)
	if err != nil {
		return nil, err
	}
	return &adminpb.TransferLeadershipResponse{}, nil
}

// TakeSnapshot implements adminpb.AdminServiceServer.
func (a *clusterAdmin) TakeSnapshot(ctx context.Context, in *adminpb.TakeSnapshotRequest) (*adminpb.TakeSnapshotResponse, error) {
	shard, bad := a.checkShard(in.Shard)
	if err := a.execute(ctx, route.ClusterChange{Kind: route.TakeSnapshot, Shard: shard}, bad); err != nil {
		return nil, err
	}
	return &adminpb.TakeSnapshotResponse{}, nil
}
