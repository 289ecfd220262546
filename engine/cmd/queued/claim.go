package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/engine/queuepb"
)

// waitMax is the longest time that one call may wait at the server. A longer wait is split into
// several calls.
const waitMax = time.Minute

type claimFlags struct {
	connection *connection

	queues      []string
	most        uint32
	wait, lease time.Duration
}

func (a taskCommands) claim() *cobra.Command {
	var f claimFlags
	c := &cobra.Command{
		Use:   "claim --queue QUEUE",
		Short: "Lease ready tasks, and print their ids, tokens and payloads",
		Long: `Leases up to --max ready tasks. No other worker gets a task before its lease ends: settle each task with its
id and token, by 'queued complete', 'fail' or 'release', or extend its lease with 'extend'.

If no task becomes ready within --wait, the command prints nothing and ends with 0. Standard error then names
paused queues and a used-up quota, which --output json has as paused_queues and quota.

In a table, a payload that is not plain text is quoted; with --output json payloads are in base64.`,
		Example: `  queued claim --queue mail
  queued claim --queue mail --max 10 --wait 30s --lease 5m
  queued claim --queue urgent=5 --queue bulk=1 --max 100      # five of urgent for one of bulk
  queued claim --queue mail --output json | jq -r '.tasks[0].payload | @base64d'`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return f.claim(c) },
	}
	flags := c.Flags()
	flags.StringArrayVar(&f.queues, "queue", nil, "queue to claim from, as NAME or NAME=WEIGHT with a weight of 1 to 100; may be repeated")
	numberFlag(flags, &f.most, "max", 1, "maximum number of tasks to claim")
	durationFlag(flags, &f.wait, "wait", "how long to wait for the first task")
	durationFlag(flags, &f.lease, "lease", "how long the leases last; default: each task's own lease duration")
	needs(c, "queue")
	f.connection = a.connect(c, false, true)
	return c
}

func (f *claimFlags) request() (*queuepb.ClaimRequest, error) {
	r := &queuepb.ClaimRequest{Tenant: f.connection.tenant, MaxTasks: f.most, LeaseMs: ms(f.lease)}
	if f.most == 0 {
		return nil, usageError{fmt.Errorf("--max is 0: expected at least 1")}
	}
	weighted := false
	for _, q := range f.queues {
		name, text, found := strings.Cut(q, "=")
		weight := uint64(1)
		if found {
			var err error
			if weight, err = strconv.ParseUint(text, 10, 32); err != nil {
				return nil, usageError{fmt.Errorf("--queue %q: the weight must be a whole number: write %s=5", q, name)}
			}
			weighted = true
		}
		r.Queues = append(r.Queues, name)
		r.Weights = append(r.Weights, uint32(weight))
	}
	if !weighted {
		r.Weights = nil
	}
	return r, nil
}

func (f *claimFlags) claim(c *cobra.Command) error {
	request, err := f.request()
	if err != nil {
		return err
	}
	a := f.connection.app
	return f.connection.queueService(c, func(ctx context.Context, api queuepb.QueueServiceClient) error {
		answer, err := f.claimOnce(ctx, api, request, 0)
		if err == nil && len(answer.GetTasks()) == 0 && f.wait > 0 {
			if why := noTask(answer); why != "" && a.output == formatTable {
				a.note("%s: waiting\n", why)
			}
			answer, err = f.claimWaiting(ctx, api, request)
		}
		if err != nil {
			return err
		}
		if len(answer.GetTasks()) == 0 && a.output == formatTable {
			why := noTask(answer)
			if why != "" {
				why = ": " + why
			}
			a.note("no task is ready%s\n", why)
			return nil
		}
		return a.print(document(answer), func(t *table) {
			column := headersColumnOf(answer.GetTasks())
			column.row(t, "HEADERS", "PAYLOAD", "ID", "TOKEN", "ATTEMPT", "QUEUE")
			for _, task := range answer.GetTasks() {
				column.row(t, strings.Join(headers(task), " "), string(task.GetPayload()), task.GetId(), task.GetToken(), task.GetAttempt(), task.GetQueue())
			}
		})
	})
}

// noTask returns the reason why an answer contains no tasks, or "" if no reason is known.
func noTask(answer *queuepb.ClaimResponse) string {
	var why []string
	if quota := answer.GetQuota(); quota != "" {
		why = append(why, fmt.Sprintf("the tenant is at its quota %s; settle tasks that it has leased, or raise the quota with 'queued tenants configure'", harmless(quota)))
	}
	if names := answer.GetPausedQueues(); len(names) > 0 {
		why = append(why, paused(names))
	}
	return strings.Join(why, "; ")
}

func paused(names []string) string {
	if len(names) == 1 {
		return fmt.Sprintf("queue %s is paused; 'queued queues resume %s' resumes it", harmless(names[0]), harmless(names[0]))
	}
	return fmt.Sprintf("the queues %s are paused; 'queued queues resume QUEUE' resumes one", harmless(strings.Join(names, ", ")))
}

func (f *claimFlags) claimOnce(ctx context.Context, api queuepb.QueueServiceClient, request *queuepb.ClaimRequest, wait time.Duration) (*queuepb.ClaimResponse, error) {
	ctx, cancel := f.connection.bounded(ctx, wait)
	defer cancel()
	request.WaitMs = ms(wait)
	return api.Claim(ctx, request)
}

// claimWaiting claims until it gets a task or the wait ends.
func (f *claimFlags) claimWaiting(ctx context.Context, api queuepb.QueueServiceClient, request *queuepb.ClaimRequest) (answer *queuepb.ClaimResponse, err error) {
	a := f.connection.app
	defer a.during(func() string { return "waiting for a task of " + strings.Join(f.queues, ", ") })()
	err = inWaits(&a.clock, f.wait, func(wait time.Duration) (bool, error) {
		answer, err = f.claimOnce(ctx, api, request, wait)
		return len(answer.GetTasks()) > 0, err
	})
	return answer, err
}

// inWaits splits a long wait into calls of at most waitMax each. It returns when one of them is
// done or the whole wait has passed.
func inWaits(clock *clock, whole time.Duration, call func(wait time.Duration) (done bool, err error)) error {
	end := clock.Now().Add(whole)
	for wait := min(whole, waitMax); ; {
		done, err := call(wait)
		if err != nil || done {
			return err
		}
		if wait = min(end.Sub(clock.Now()), waitMax).Truncate(time.Millisecond); wait <= 0 {
			return nil
		}
	}
}
