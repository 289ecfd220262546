package cluster

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/internal/nodeid"
	"github.com/pronybench/prony/engine/peerpb"
	"github.com/pronybench/prony/engine/rpc/route"
)

// PeerService returns the service that answers the other nodes.
func (k *Cluster) PeerService() peerpb.PeerServiceServer { return &peerService{cluster: k} }

// peerService answers the other nodes. The caller of every call is authenticated, because the
// connection is.
type peerService struct {
	peerpb.UnimplementedPeerServiceServer

	cluster *Cluster
}

// GetInfo implements peerpb.PeerServiceServer.
func (s *peerService) GetInfo(context.Context, *peerpb.GetInfoRequest) (*peerpb.GetInfoResponse, error) {
	info, err := s.cluster.ownInfo()
	return info, peerError(err)
}

// ReadClock implements peerpb.PeerServiceServer.
func (s *peerService) ReadClock(context.Context, *peerpb.ReadClockRequest) (*peerpb.ReadClockResponse, error) {
	_, now := s.cluster.config.Clock.Now()
	return &peerpb.ReadClockResponse{UnixNs: now}, nil
}

// Join implements peerpb.PeerServiceServer.
func (s *peerService) Join(ctx context.Context, in *peerpb.JoinRequest) (*peerpb.JoinResponse, error) {
	err := nodeid.Check(in.GetNode())
	if err == nil {
		err = nodeid.CheckAddress(in.GetAddress())
	}
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	return &peerpb.JoinResponse{}, peerError(s.cluster.takeIn(ctx, in))
}

// ChangeGroup implements peerpb.PeerServiceServer.
func (s *peerService) ChangeGroup(ctx context.Context, in *peerpb.ChangeGroupRequest) (*peerpb.ChangeGroupResponse, error) {
	return &peerpb.ChangeGroupResponse{}, peerError(s.cluster.changeGroup(ctx, in))
}

// Welcome implements peerpb.PeerServiceServer.
func (s *peerService) Welcome(_ context.Context, in *peerpb.WelcomeRequest) (*peerpb.WelcomeResponse, error) {
	return &peerpb.WelcomeResponse{Standing: s.cluster.identity.standing(in.GetNode(), in.GetIncarnation())}, nil
}

// Readmit implements peerpb.PeerServiceServer.
func (s *peerService) Readmit(ctx context.Context, in *peerpb.ReadmitRequest) (*peerpb.ReadmitResponse, error) {
	if err := nodeid.Check(in.GetNode()); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	return &peerpb.ReadmitResponse{}, peerError(s.cluster.readmit(ctx, in.GetNode(), in.GetIncarnation()))
}

func peerError(err error) error {
	var refused *route.ChangeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused):
		return status.Error(codes.FailedPrecondition, err.Error())
	case retryable(err):
		return status.Error(codes.Unavailable, err.Error())
	default:
		return status.Error(codes.Internal, err.Error())
	}
}
