package rpc

import (
	"time"

	"google.golang.org/grpc"
)

// HuntFor bounds how long calls look for who leads.
func (s *Service) HuntFor(most time.Duration) { s.router.huntMax = most }

// HuntFor does so too.
func (a *Admin) HuntFor(most time.Duration) { a.router.huntMax = most }

// Forwards returns how many calls are under way at other nodes.
func (s *Service) Forwards() int { return len(s.router.forwards) }

// WithCoverage returns the interceptor of calls from other nodes.
func (s *Service) WithCoverage() grpc.UnaryServerInterceptor { return s.withCoverage }
