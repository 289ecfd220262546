package generator

import (
	"context"
	"errors"
	"fmt"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/driver/open"
	"github.com/pronybench/prony/harness/ledger"
	"github.com/pronybench/prony/harness/load"
	"github.com/pronybench/prony/harness/proc/dialogue"
	"github.com/pronybench/prony/harness/profile"
	"github.com/pronybench/prony/harness/result"
)

// session is the state of a generator. Only one command uses it at a time.
type session struct {
	ctx  context.Context // context of the load
	dial func(Spec) open.Dialer
	self profile.Self // takes the profiles of this process

	// The command open sets the following fields:
	conns  []driver.Conn
	ledger *ledger.Ledger
	load   *load.Slices // nil until open is called
	ended  bool         // set when the load has ended

	noops *noopLoad // set by the command noop_open
}

// none is used as the type of missing arguments and of empty answers.
type none = dialogue.None

var errNotOpen = errors.New("no load is open; send open first")

func (s *session) open(_ context.Context, spec Spec) (none, error) {
	if s.load != nil {
		return none{}, errors.New("the load is already open")
	}
	dialer := s.dial(spec)
	if dialer == nil {
		return none{}, fmt.Errorf("workload.driver is %q; expected stream, unary or rest", spec.Workload.Driver)
	}
	if n := spec.Workload.Connections; n < 1 {
		return none{}, fmt.Errorf("workload.connections is %d; it must be at least 1", n)
	}
	var err error
	if s.conns, err = open.Conns(spec.Workload.Connections, dialer); err != nil {
		return none{}, err
	}
	s.ledger = load.NewLedger(spec.Round, spec.Workload)
	s.load, err = load.OpenSlices(s.ctx, load.Config{Workload: spec.Workload, Conns: s.conns, Ledger: s.ledger})
	return none{}, err
}

func (s *session) slice(ctx context.Context, a sliceArguments) (done Slice, err error) {
	if s.load == nil {
		return done, errNotOpen
	}
	done.Cycles, done.Took, err = s.load.Slice(ctx, a.Length)
	return done, err
}

func (s *session) openSlice(ctx context.Context, a sliceArguments) (none, error) {
	if s.load == nil {
		return none{}, errNotOpen
	}
	return none{}, s.load.OpenSlice(ctx, a.Seed, a.PerSecond, a.Length)
}

func (s *session) finish(context.Context, none) (Report, error) {
	if s.load == nil {
		return Report{}, errNotOpen
	}
	latency, err := s.end()
	if err = errors.Join(err, s.close()); err != nil {
		return Report{}, err
	}
	r := Report{Ledger: s.ledger.Balance(), Open: latency}
	r.RefusedEnqueues, r.RefusedCompletions = s.load.Refused()
	return r, nil
}

func (s *session) end() (*result.DuetLatency, error) {
	s.ended = true
	return s.load.End()
}

// close ends the load and closes the connections. It may be called repeatedly. It returns an error
// if a connection cannot be closed.
func (s *session) close() error {
	if s.load != nil && !s.ended {
		_, _ = s.end() // the failed command has already returned the reason
	}
	var noopErr error
	if s.noops != nil {
		noopErr = s.noops.close()
		s.noops = nil
	}
	conns := s.conns
	s.conns = nil
	return errors.Join(open.Close(conns), noopErr)
}
