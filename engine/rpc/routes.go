package rpc

import (
	"context"
	"math/rand/v2"

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
			r.Address, r.Http = m.Address, m.HTTP
		}
		out.Routes[i] = r
	}
	return out, nil
}

// LeaderHTTP returns where REST clients reach a node that leads a shard, host:port, if this node leads none. It is one of these nodes at
// random. LeaderHTTP returns "" if this node leads a shard or is in no cluster, or if no such address is known. It does not block.
func (s *Service) LeaderHTTP() string {
	if s.router == nil {
		return ""
	}
	c := s.router.Cluster()
	known, at := 0, ""
	for i := range s.router.Shards() {
		node := c.Leader(i)
		if node == c.Self() {
			return ""
		}
		if m, _ := c.Member(node); m.HTTP != "" {
			if known++; rand.N(known) == 0 {
				at = m.HTTP
			}
		}
	}
	return at
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
