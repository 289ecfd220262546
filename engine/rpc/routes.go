package rpc

import (
	"context"

	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/rpc/call"
	"github.com/pronybench/prony/engine/shard"
)

// GetRoutes implements the call. Any access token that is good may ask.
func (s *Service) GetRoutes(ctx context.Context, _ *queuepb.GetRoutesRequest) (*queuepb.GetRoutesResponse, error) {
	if _, err := call.Identity(ctx); err != nil {
		return nil, call.Status(err)
	}
	out := &queuepb.GetRoutesResponse{Routes: make([]*queuepb.Route, s.shards.Len())}
	c := s.router.Cluster()
	for i := range out.GetRoutes() {
		r := &queuepb.Route{Shard: uint32(i), Here: c == nil}
		if c != nil {
			r.Node = c.Leader(i)
			r.Here = r.GetNode() == c.Self()
			m, _ := c.Member(r.GetNode())
			r.Address = m.Address
		}
		out.Routes[i] = r
	}
	return out, nil
}

// leadsNothing returns why a stream can't be opened here: other nodes lead all shards. It is nil otherwise.
func (s *Service) leadsNothing() error {
	if s.router == nil {
		return nil
	}
	c, known := s.router.Cluster(), 0
	for i := range s.router.Shards() {
		switch c.Leader(i) {
		case c.Self():
			return nil
		case "":
		default:
			known = i
		}
	}
	return &shard.NotLeaderError{Shard: known}
}
