package rpc

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/rpc/call"
	"github.com/pronybench/prony/engine/rpc/route"
	"github.com/pronybench/prony/engine/shard"
)

// GetRoutes implements queuepb.QueueServiceServer. The caller needs a valid access token with any
// scope.
func (s *Service) GetRoutes(ctx context.Context, in *queuepb.GetRoutesRequest) (*queuepb.GetRoutesResponse, error) {
	_, err := call.Identity(ctx)
	if err == nil {
		err = call.FieldErr(s.limits.CheckWait(in.GetWaitMs()))
	}
	if err != nil {
		return nil, call.Status(err)
	}
	c := s.router.Cluster()
	if c == nil {
		out := &queuepb.GetRoutesResponse{}
		for i := range s.shards.Len() {
			out.Routes = append(out.Routes, &queuepb.Route{Shard: uint32(i), Here: true})
		}
		return out, nil
	}
	out, changed := s.routes(c)
	if in.GetVersion() != out.GetVersion() || in.GetWaitMs() == 0 {
		return out, nil
	}
	wait := time.NewTimer(time.Duration(in.GetWaitMs()) * time.Millisecond)
	defer wait.Stop()
	select {
	case <-changed:
		out, _ = s.routes(c)
	case <-wait.C:
	case <-s.stopping:
	case <-call.TokenEnded(ctx):
		return nil, s.refuse(access.ErrEnded)
	case <-ctx.Done():
		return nil, s.refuse(ctx.Err())
	}
	return out, nil
}

// routes returns the routes that this node knows, and a channel that is closed when they may have
// changed.
func (s *Service) routes(c route.Cluster) (*queuepb.GetRoutesResponse, <-chan struct{}) {
	version, changed := c.Version() // read it before the routes, so that no change is missed
	out := &queuepb.GetRoutesResponse{Routes: make([]*queuepb.Route, s.shards.Len()), Version: version, Node: c.Self()}
	led := s.shards.Led()
	for i := range out.GetRoutes() {
		r := &queuepb.Route{Shard: uint32(i), Node: c.Leader(i), Here: slices.Contains(led, i)}
		switch {
		case r.GetHere():
			r.Node = c.Self()
		case r.GetNode() == c.Self():
			r.Node = "" // this node's tenure has not started yet, or has ended
		}
		m, _ := c.Member(r.GetNode())
		r.Address, r.Http = m.Address, m.HTTP
		out.Routes[i] = r
	}
	return out, changed
}

// LeaderHTTP returns the REST address, as host:port, of a random node that leads a shard. It
// returns "" if this node leads a shard, if it is not in a cluster, or if no such address is known.
// It does not block.
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

// leadsNothing returns nil if a stream can be opened at this node. If other nodes lead all shards,
// it returns an error.
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
