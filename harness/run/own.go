package run

import (
	"context"
	"os"
	"time"

	"github.com/pronybench/prony/harness/load"
	"github.com/pronybench/prony/harness/result"
)

// generator is what puts the workloads of a round on the servers: this process, or one that runs a script.
type generator interface {
	// load does that, with what a scenario does to the servers meanwhile, and calls the hooks. It is called once.
	load(ctx context.Context, h *harm, hooks load.Hooks) ([]*load.Outcome, error)
	// count is how many tasks of all workloads are known to be completed. It may be called at any time.
	count() count
	// balance is the account of all workloads together, as it stands.
	balance() result.Ledger
	// pid is the process that makes the calls; it is known while the load is under way, from before its window.
	pid() int
	// judge says what is wrong with a load that has ended, beside what the account and the servers say.
	judge(o *outcomes, m *measured)
}

// count is a number of completed tasks, and when it was that.
type count struct {
	completed uint64
	at        time.Time
}

// perSecondSince is the rate from an earlier count on; 0 where nothing was heard since.
func (c count) perSecondSince(earlier count) float64 {
	passed := c.at.Sub(earlier.at).Seconds()
	if passed <= 0 {
		return 0
	}
	return float64(c.completed-earlier.completed) / passed
}

// own has this process put the workloads on the servers, through drivers.
type own struct{ of *loads }

func (o own) load(ctx context.Context, h *harm, hooks load.Hooks) ([]*load.Outcome, error) {
	return stage(o.of, func(cfgs []load.Config) ([]*load.Outcome, error) {
		cfgs[0].Hooks = hooks
		for i := range cfgs {
			cfgs[i].Slow = o.of.slow
		}
		return h.load(ctx, cfgs, o.of)
	})
}

func (o own) count() count {
	c := count{at: time.Now()}
	for _, a := range o.of.accounts {
		c.completed += a.Totals().Completed
	}
	return c
}

func (o own) balance() result.Ledger {
	sum := o.of.accounts[0].Balance()
	for i, a := range o.of.accounts[1:] {
		b := a.Balance()
		sum.Enqueued += b.Enqueued
		sum.Unknown += b.Unknown
		sum.Completed += b.Completed
		sum.InDoubt += b.InDoubt
		sum.Lost += b.Lost
		sum.Duplicated += b.Duplicated
		sum.Corrupted += b.Corrupted
		sum.Misrouted += b.Misrouted
		sum.Reordered += b.Reordered
		for _, sample := range b.Samples {
			sum.Samples = append(sum.Samples, o.of.workloads[i+1].Name+": "+sample)
		}
	}
	return sum
}

func (own) pid() int { return os.Getpid() }

func (own) judge(*outcomes, *measured) {}
