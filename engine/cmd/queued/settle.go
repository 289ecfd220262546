package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/engine/queuepb"
)

// leased is a task id and a lease token from the command line.
type leased struct {
	id    string
	token uint64
}

func leases(args []string) ([]leased, error) {
	if len(args) == 0 || len(args)%2 != 0 {
		return nil, usageError{errors.New("pass pairs of id and token, as 'queued claim' printed them")}
	}
	if len(args)/2 > batchTasksMax {
		return nil, usageError{fmt.Errorf("%d tasks are too many for one call: pass at most %d", len(args)/2, batchTasksMax)}
	}
	out := make([]leased, 0, len(args)/2)
	for i := 0; i < len(args); i += 2 {
		token, err := strconv.ParseUint(args[i+1], 10, 64)
		if err != nil || token == 0 {
			return nil, usageError{badToken(args[i+1])}
		}
		out = append(out, leased{args[i], token})
	}
	return out, nil
}

// tokenKey is the annotation that marks commands whose arguments are leases.
const tokenKey = "token"

func badToken(text string) error {
	return fmt.Errorf("%q is not a lease token: pass the number above 0 that 'queued claim' printed after the id", text)
}

// settleCall sends a settlement for each lease.
type settleCall func(ctx context.Context, api queuepb.QueueServiceClient, tenant string, leases []leased) ([]*queuepb.SettleResult, error)

// settle returns a command whose arguments are leases. done is the word that it prints for each
// lease that the server accepted.
func (a taskCommands) settle(c *cobra.Command, done string, check func(n int) error, call settleCall) *cobra.Command {
	c.Use += " ID TOKEN [ID TOKEN]..."
	c.Annotations = map[string]string{tokenKey: "yes"}
	conn := a.connect(c, false, true)
	c.RunE = func(c *cobra.Command, args []string) error {
		pairs, err := leases(args)
		if err == nil && check != nil {
			err = check(len(pairs))
		}
		if err != nil {
			return err
		}
		return conn.queueService(c, func(ctx context.Context, api queuepb.QueueServiceClient) error {
			ctx, cancel := conn.bounded(ctx, 0)
			defer cancel()
			results, err := call(ctx, api, conn.tenant, pairs)
			if err != nil {
				return err
			}
			ids := make([]string, len(pairs))
			for i := range pairs {
				ids[i] = pairs[i].id
			}
			return a.printResults(ids, results, done)
		})
	}
	return c
}

// printResults prints the outcome for each task, and returns the first refusal as an error.
func (a *app) printResults(ids []string, results []*queuepb.SettleResult, done string) error {
	if len(results) != len(ids) {
		return fmt.Errorf("the server answered with %d results to %s", len(results), count(len(ids), "task"))
	}
	documents := make([]members, len(ids))
	var refused error
	for i, r := range results {
		documents[i] = members{{"id", ids[i]}, {"ok", r.GetError() == nil}}
		if e := r.GetError(); e != nil {
			documents[i] = append(documents[i], member{"error", document(e)})
			if refused == nil {
				refused = itemError{e}
				if len(ids) > 1 {
					refused = fmt.Errorf("%s: %w", ids[i], refused)
				}
			}
		}
	}
	return errors.Join(refused, a.print(members{{"results", documents}}, func(t *table) {
		for i, r := range results {
			if r.GetError() == nil {
				t.row(ids[i], done)
			}
		}
	}))
}

func (a taskCommands) complete() *cobra.Command {
	var result, file string
	c := &cobra.Command{
		Use:   "complete",
		Short: "Settle leased tasks whose work succeeded",
		Long: `Settles leased tasks whose work succeeded: they leave the queue. A result is retained for 'queued result' if the
task or its queue has a result retention.`,
		Example: `  queued complete 0000000000000000000000g1 4096
  queued complete 0000000000000000000000g1 4096 --result '{"pages": 3}'`,
	}
	c.Flags().StringVar(&result, "result", "", "the task's result")
	c.Flags().StringVar(&file, "result-file", "", "read the result from this file")
	bytes := []byte(nil)
	check := func(n int) error {
		bytes = []byte(result)
		if file != "" {
			if result != "" {
				return usageError{errors.New("--result and --result-file are both given: pass one of them")}
			}
			var err error
			if bytes, err = os.ReadFile(file); err != nil {
				return usageError{fmt.Errorf("--result-file: %w", err)}
			}
		}
		if n > 1 && len(bytes) > 0 {
			return usageError{errors.New("a result belongs to one task: pass one pair of id and token")}
		}
		return nil
	}
	return a.settle(c, "completed", check, func(ctx context.Context, api queuepb.QueueServiceClient, tenant string, leases []leased) ([]*queuepb.SettleResult, error) {
		r := &queuepb.CompleteRequest{Tenant: tenant}
		for _, l := range leases {
			r.Completions = append(r.Completions, &queuepb.Completion{Id: l.id, Token: l.token, Result: bytes})
		}
		out, err := api.Complete(ctx, r)
		return out.GetResults(), err
	})
}

func (a taskCommands) fail() *cobra.Command {
	var text string
	var delay time.Duration
	var permanent bool
	c := &cobra.Command{
		Use:   "fail",
		Short: "Settle leased tasks whose work failed",
		Long: `Settles leased tasks whose work failed: they are retried after a backoff, or after --delay, until their
attempts are used up. Then they are dead letters: see 'queued dead'. With --permanent they are dead letters
immediately.`,
		Example: `  queued fail 0000000000000000000000g1 4096 --error 'no such mailbox'
  queued fail 0000000000000000000000g1 4096 --delay 10m
  queued fail 0000000000000000000000g1 4096 --permanent --error 'the account is closed'`,
	}
	c.Flags().StringVar(&text, "error", "", "the error text; stored with the task")
	durationFlag(c.Flags(), &delay, "delay", "delay before the next attempt; default: the task's backoff")
	c.Flags().BoolVar(&permanent, "permanent", false, "make the tasks dead letters at once, whatever attempts they have left")
	check := func(int) error {
		if permanent && delay > 0 {
			return usageError{errors.New("--delay and --permanent are both given: pass one of them")}
		}
		return nil
	}
	return a.settle(c, "failed", check, func(ctx context.Context, api queuepb.QueueServiceClient, tenant string, leases []leased) ([]*queuepb.SettleResult, error) {
		r := &queuepb.FailRequest{Tenant: tenant}
		for _, l := range leases {
			r.Failures = append(r.Failures, &queuepb.Failure{Id: l.id, Token: l.token, Error: text, DelayMs: ms(delay), Permanent: permanent})
		}
		out, err := api.Fail(ctx, r)
		return out.GetResults(), err
	})
}

func (a taskCommands) extend() *cobra.Command {
	var lease time.Duration
	var note string
	c := &cobra.Command{
		Use:   "extend",
		Short: "Extend leases",
		Long: `Sets the end of leases to --lease from now. Their tokens stay valid. With --note it also replaces the tasks'
note, which 'queued task' and 'queued tasks list' show until the tasks are done or dead.`,
		Example: `  queued extend 0000000000000000000000g1 4096 --lease 10m
  queued extend 0000000000000000000000g1 4096 --lease 10m --note half`,
	}
	c.Flags().StringVar(&note, "note", "", "a text about the tasks' progress, at most 1 KiB; default: keep the old one")
	durationFlag(c.Flags(), &lease, "lease", "how long the leases last from now")
	needs(c, "lease")
	return a.settle(c, "extended", nil, func(ctx context.Context, api queuepb.QueueServiceClient, tenant string, leases []leased) ([]*queuepb.SettleResult, error) {
		r := &queuepb.ExtendRequest{Tenant: tenant}
		for _, l := range leases {
			r.Extensions = append(r.Extensions, &queuepb.Extension{Id: l.id, Token: l.token, LeaseMs: ms(lease), Note: note})
		}
		out, err := api.Extend(ctx, r)
		return out.GetResults(), err
	})
}

func (a taskCommands) release() *cobra.Command {
	var delay time.Duration
	c := &cobra.Command{
		Use:     "release",
		Short:   "Return leased tasks",
		Long:    "Returns leased tasks without using up an attempt: they are ready again, immediately or after --delay.",
		Example: `  queued release 0000000000000000000000g1 4096`,
	}
	durationFlag(c.Flags(), &delay, "delay", "delay before the tasks are ready again; default: none")
	return a.settle(c, "released", nil, func(ctx context.Context, api queuepb.QueueServiceClient, tenant string, leases []leased) ([]*queuepb.SettleResult, error) {
		r := &queuepb.ReleaseRequest{Tenant: tenant}
		for _, l := range leases {
			r.Releases = append(r.Releases, &queuepb.Releasing{Id: l.id, Token: l.token, DelayMs: ms(delay)})
		}
		out, err := api.Release(ctx, r)
		return out.GetResults(), err
	})
}
