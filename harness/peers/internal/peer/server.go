package peer

import (
	"context"
	"errors"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/peers/internal/child"
)

// Server implements program.Server over processes that package child started.
type Server struct {
	Processes *child.Servers // nil if the program attached to running servers
	// Prepare creates the queues and everything else that the load needs. It is called after each
	// start, and must preserve existing data.
	Prepare func(context.Context) error
	Open    func(context.Context) (driver.Conn, error)
	Free    func() error // releases the resources of Prepare; may be nil
}

// Begin prepares servers after their start or after attaching to them. It stops them if that fails.
func (s *Server) Begin(ctx context.Context) (*Server, error) {
	if err := s.Prepare(ctx); err != nil {
		return nil, errors.Join(err, s.Stop(ctx))
	}
	return s, nil
}

// PIDs implements program.Server.
func (s *Server) PIDs() []int {
	if s.Processes == nil {
		return nil
	}
	return s.Processes.PIDs()
}

// Dial implements program.Server.
func (s *Server) Dial(ctx context.Context) (driver.Conn, error) { return s.Open(ctx) }

// Kill implements program.Server.
func (s *Server) Kill(ctx context.Context) error {
	if s.Processes == nil {
		return ErrAttached
	}
	return s.Processes.Kill(ctx)
}

// Restart implements program.Server.
func (s *Server) Restart(ctx context.Context) error {
	if s.Processes == nil {
		return ErrAttached
	}
	if err := s.Processes.Restart(ctx); err != nil {
		return err
	}
	return s.Prepare(ctx)
}

// Stop implements program.Server.
func (s *Server) Stop(ctx context.Context) error {
	var freed error
	if s.Free != nil {
		freed = s.Free()
	}
	if s.Processes == nil {
		return freed
	}
	return errors.Join(freed, s.Processes.Stop(ctx))
}
