package run

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/pronybench/prony/harness/load"
	"github.com/pronybench/prony/harness/result"
)

// generator runs the workloads of a round against the servers. It is either this process or a k6
// process that runs a script.
type generator interface {
	// load runs the load, injects the faults of the scenario and calls the hooks. It is called
	// once.
	load(ctx context.Context, h *injection, hooks load.Hooks) ([]*load.Outcome, error)
	// count returns how many tasks are known to be completed and outstanding. It may be called
	// concurrently with load.
	count() count
	// balance returns the current account of all workloads combined.
	balance() result.Ledger
	// pid returns the process that makes the calls. It may be called from shortly before the window
	// until the load ends.
	pid() int
	// judge adds the faults of a load that has ended to m. It ignores faults of the account and of
	// the servers.
	judge(o *outcomes, m *measured)
}

// count is a snapshot of the accounts.
type count struct {
	completed uint64
	enqueued  uint64 // acknowledged enqueues; 0 for a k6 process
	at        time.Time
	// outstanding is the number of tasks of each workload that were sent and neither refused nor
	// completed. It is nil until the numbers are known.
	outstanding []float64
}

func (c count) perSecondSince(earlier count) float64 {
	passed := c.at.Sub(earlier.at).Seconds()
	if passed <= 0 {
		return 0
	}
	return float64(c.completed-earlier.completed) / passed
}

// inProcess is the generator that runs in this process. It reaches the servers through drivers.
type inProcess struct{ of *loads }

func (g inProcess) load(ctx context.Context, h *injection, hooks load.Hooks) ([]*load.Outcome, error) {
	return stage(ctx, g.of, func(cfgs []load.Config) (outcomes []*load.Outcome, err error) {
		cfgs[0].Hooks = hooks
		for i := range cfgs {
			readers, openErr := openReaders(ctx, g.of.cluster, cfgs[i].Workload)
			cfgs[i].Readers = readers
			defer func() { err = errors.Join(err, closeReaders(readers)) }()
			if openErr != nil {
				return nil, openErr
			}
		}
		for i := range cfgs {
			cfgs[i].Slow = g.of.slow
		}
		return h.load(ctx, cfgs, g.of)
	})
}

func (g inProcess) count() count {
	c := count{at: time.Now()}
	for _, a := range g.of.accounts {
		t := a.Totals()
		c.completed += t.Completed
		c.enqueued += t.Enqueued
		c.outstanding = append(c.outstanding, float64(t.Outstanding))
	}
	return c
}

func (g inProcess) balance() result.Ledger {
	sum := g.of.accounts[0].Balance()
	for i, a := range g.of.accounts[1:] {
		sum.Add(a.Balance(), g.of.workloads[i+1].Name)
	}
	return sum
}

func (inProcess) pid() int { return os.Getpid() }

func (inProcess) judge(*outcomes, *measured) {}
