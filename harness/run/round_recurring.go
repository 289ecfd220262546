package run

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/queuepb"

	"github.com/pronybench/prony/harness/audit"
	"github.com/pronybench/prony/harness/ledger"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/topology"
)

const (
	recurringQueue   = "recurring"
	recurringWorkers = 4
	recurringSlots   = 1024
	recurringBytes   = 64 // payload of a task
	// recurringPoll is the time between two checks whether the tasks of all due times have arrived.
	recurringPoll = 10 * time.Millisecond
	// recurringSetMax bounds the time to create the recurring tasks.
	recurringSetMax = time.Minute

	// The server adds these headers to the tasks of recurring tasks.
	recurringName = "recurring"
	recurringDue  = "recurring-due-ms"
)

// recurring claims and completes the tasks of a round's recurring tasks.
type recurring struct {
	client  *client.Client
	worker  *client.Worker
	account *ledger.Recurring

	stop    context.CancelFunc // ends the claims
	workers sync.WaitGroup
	mu      sync.Mutex
	err     error // the first error of the workers
}

// startRecurring creates the recurring tasks of the scenario and claims their tasks from then on. It
// returns nil if the scenario has none, or if the round is a calibration.
func (r *runner) startRecurring(ctx context.Context, cluster *topology.Cluster, p plannedRound) (_ *recurring, err error) {
	of := r.scenario.Recurring
	if of == nil || p.kind == calibration {
		return nil, nil
	}
	c := &recurring{account: ledger.NewRecurring(of.Interval)}
	defer func() {
		if err != nil {
			err = fmt.Errorf("start the recurring tasks: %w", errors.Join(err, c.close()))
		}
	}()
	target := targetOf(cluster, scenario.Workload{})
	if c.client, err = target.Dial(); err != nil {
		return nil, err
	}
	if c.worker, err = c.client.Worker(ctx, client.WorkerConfig{Tenant: ledger.RecurringTenant, Queues: []string{recurringQueue}, Slots: recurringSlots}); err != nil {
		return nil, err
	}
	claims, stop := context.WithCancel(ctx)
	c.stop = stop
	for range recurringWorkers {
		c.workers.Go(func() { c.work(claims, ctx) })
	}
	admin, err := target.DialAdmin(cluster.Servers()[0].Node().Admin)
	if err != nil {
		return nil, err
	}
	return c, errors.Join(c.create(ctx, admin, of), admin.Close())
}

func (c *recurring) create(ctx context.Context, admin *client.Admin, of *scenario.Recurring) error {
	ctx, cancel := context.WithTimeout(ctx, recurringSetMax)
	defer cancel()
	spec := &adminpb.RecurringSpec{
		IntervalMs: uint64(of.Interval.Milliseconds()), Missed: adminpb.MissedRuns_MISSED_RUNS_RUN_ALL, MissedMax: 1000,
		Overlap: adminpb.Overlap_OVERLAP_ALLOW, Task: &adminpb.RecurringTemplate{Payload: make([]byte, recurringBytes)},
	}
	for i := range of.Tasks {
		name := strconv.Itoa(i)
		set, err := admin.SetRecurring(ctx, &adminpb.SetRecurringRequest{Tenant: ledger.RecurringTenant, Queue: recurringQueue, Name: name, Spec: spec})
		if err != nil {
			return err
		}
		next := set.GetRecurring().GetNextMs()
		if len(next) == 0 {
			return fmt.Errorf("the server answered no due time of the recurring task %q", name)
		}
		c.account.Begins(name, next[0])
	}
	return nil
}

// work claims tasks until claims is done, and completes them.
func (c *recurring) work(claims, calls context.Context) {
	for {
		t, err := c.worker.Receive(claims)
		if err != nil {
			if claims.Err() == nil {
				c.fail(fmt.Errorf("claim the tasks of recurring tasks: %w", err))
			}
			return
		}
		now := time.Now()
		tasks := []*queuepb.Task{t}
		for more := true; more && len(tasks) < recurringSlots/recurringWorkers; {
			if t, more = c.worker.TryReceive(); more {
				tasks = append(tasks, t)
			}
		}
		for _, t := range tasks {
			due, _ := strconv.ParseInt(t.GetHeaders()[recurringDue], 10, 64) // 0 is no due time
			c.account.Received(t.GetHeaders()[recurringName], t.GetId(), due, now)
		}
		errs, err := c.worker.CompleteBatch(calls, tasks)
		if err = errors.Join(append(errs, err)...); err != nil {
			c.fail(fmt.Errorf("complete the tasks of recurring tasks: %w", err))
			return
		}
	}
}

func (c *recurring) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
	}
}

// judge waits until the tasks of all due times so far have arrived, at most for the drain, and judges
// the account. It may be called on nil.
func (c *recurring) judge(ctx context.Context, drain time.Duration, m *measured) {
	if c == nil {
		return
	}
	until := time.Now()
	poll := time.NewTicker(recurringPoll)
	defer poll.Stop()
	for !c.account.Complete(until) && time.Since(until) < drain && ctx.Err() == nil {
		<-poll.C
	}
	c.stop()
	c.workers.Wait()
	balance, late := c.account.Balance(until)
	m.round.Recurring, m.histograms.Recurring = &balance, late
	if c.err != nil {
		m.fault(result.Invalid, c.err.Error())
	}
	for _, problem := range audit.Recurring(&balance) {
		m.fault(result.Incorrect, problem)
	}
}

// close ends the session. It may be called on nil, and after judge.
func (c *recurring) close() error {
	if c == nil {
		return nil
	}
	var errs []error
	if c.stop != nil {
		c.stop()
		c.workers.Wait()
	}
	if c.worker != nil {
		ctx, cancel := context.WithTimeout(context.Background(), exitWait)
		defer cancel()
		errs = append(errs, c.worker.Close(ctx))
	}
	if c.client != nil {
		errs = append(errs, c.client.Close())
	}
	return errors.Join(errs...)
}
