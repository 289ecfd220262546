package generator

import (
	"context"
	"errors"

	"github.com/pronybench/prony/harness/driver"
)

// WorkSpec defines the fixed work of a generator, and the servers that receive it.
type WorkSpec struct {
	Target Target `json:"target"`
	// Seed determines the sequence of operations.
	Seed uint64 `json:"seed"`
	// Cycles is the minimum number of tasks to complete. More tasks may be completed, because the
	// last batch is always completed as a whole.
	Cycles uint64 `json:"cycles"`
}

// workDone is the answer to the command work.
type workDone struct {
	Cycles uint64 `json:"cycles"`
}

// StartIdle starts a generator without a load. It can be used for fixed work. The caller must end
// it with Kill.
func StartIdle(c Command) (*Process, error) {
	return start(c)
}

// Work does the fixed work with one request in flight at any time. It returns the number of cycles,
// which depends only on spec.Seed and spec.Cycles. A second call with the same servers needs
// another seed. If Work fails and the generator has no open load, the generator ends.
func (p *Process) Work(ctx context.Context, spec WorkSpec) (cycles uint64, err error) {
	var done workDone
	err = p.call(ctx, workMax+workCloseMax, "work", spec, &done)
	return done.Cycles, err
}

// work does the fixed work over a new connection.
func (s *session) work(ctx context.Context, spec WorkSpec) (done workDone, err error) {
	if spec.Cycles == 0 {
		return done, errors.New("cycles is 0; it must be at least 1")
	}
	t := spec.Target
	c, err := driver.Target{Address: t.Address, Token: t.Token, CA: t.CA, BusyPoll: t.BusyPoll}.Dial()
	if err != nil {
		return done, err
	}
	done.Cycles, err = doWork(ctx, c, spec.Seed, spec.Cycles)
	return done, errors.Join(err, c.Close())
}
