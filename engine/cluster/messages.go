package cluster

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/peerpb"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/shard"
	"github.com/pronybench/prony/engine/storage"
)

// deliver passes messages about tasks that wait for others to the leader of a shard.
func (h *replicaHost) deliver(ctx context.Context, to uint16, messages []queue.Message) error {
	node := h.groups.Leader(int(to))
	switch node {
	case "":
		return &shard.NotLeaderError{Shard: int(to)}
	case h.groups.Self():
		return h.config.Shards.Deliver(ctx, to, messages)
	}
	c, err := h.peers.conn(node)
	if err != nil {
		return err
	}
	_, err = peerpb.NewPeerServiceClient(c).Deliver(ctx, &peerpb.DeliverRequest{Shard: uint32(to), Messages: storage.EncodeMessages(messages)})
	return err
}

// messagesMax is the maximum number of messages of one call.
const messagesMax = 1_024

// Deliver implements peerpb.PeerServiceServer.
func (s *peerService) Deliver(ctx context.Context, in *peerpb.DeliverRequest) (*peerpb.DeliverResponse, error) {
	shards := s.cluster.config.Shards
	if n := len(in.GetMessages()); n > messagesMax || in.GetShard() >= uint32(shards.Len()) {
		return nil, status.Errorf(codes.InvalidArgument, "%d messages to shard %d: expected at most %d messages to a shard below %d", n, in.GetShard(), messagesMax, shards.Len())
	}
	messages, err := storage.DecodeMessages(in.GetMessages())
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	return &peerpb.DeliverResponse{}, peerError(shards.Deliver(ctx, uint16(in.GetShard()), messages))
}
