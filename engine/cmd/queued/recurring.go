package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queuepb"
)

// recurringCommands contains the subcommands of recurring.
type recurringCommands struct{ *app }

func (a recurringCommands) recurring() *cobra.Command {
	return group("recurring", "Set, list, show, pause, resume, run and delete recurring tasks", `  queued recurring set reports digest --cron '30 8 * * mon-fri' --time-zone Europe/Berlin 'daily'
  queued recurring list
  queued recurring show reports digest`,
		a.set(), a.list(), a.show(), a.pause(), a.resume(), a.runNow(), a.remove())
}

type recurringFlags struct {
	spec                                 adminpb.RecurringSpec
	interval, jitter, lease, ttl, retain time.Duration
	payload                              enqueueFlags // only its payload is used
	priority, maxAttempts, missedMax     uint32
	headers                              map[string]string
}

func (f *recurringFlags) define(flags *pflag.FlagSet) {
	flags.StringVar(&f.spec.Cron, "cron", "", "cron expression of five fields, minute hour day month weekday, or @hourly, @daily, @weekly, @monthly, @yearly")
	durationFlag(flags, &f.interval, "interval", "instead of --cron: due at multiples of this interval since 1970-01-01 UTC; at least 1s")
	flags.StringVar(&f.spec.TimeZone, "time-zone", "", "IANA time zone of the cron expression, as in Europe/Berlin; default UTC")
	durationFlag(flags, &f.jitter, "jitter", "delay each run by up to this time, but not beyond the next due time")
	wordFlag(flags, &f.spec.Missed, "missed", []string{"run-once", "skip", "run-all"},
		[]adminpb.MissedRuns{adminpb.MissedRuns_MISSED_RUNS_RUN_ONCE, adminpb.MissedRuns_MISSED_RUNS_SKIP, adminpb.MissedRuns_MISSED_RUNS_RUN_ALL},
		"due times that passed while no server was running. run-once, the default: run the last one; skip: run the last one if it is less than a minute late; run-all: run the last --missed-max")
	numberFlag(flags, &f.missedMax, "missed-max", 0, "number of missed due times that --missed run-all runs, 1 to 1000")
	wordFlag(flags, &f.spec.Overlap, "overlap", []string{"allow", "skip"}, []adminpb.Overlap{adminpb.Overlap_OVERLAP_ALLOW, adminpb.Overlap_OVERLAP_SKIP},
		"allow, the default: run at each due time; skip: do not run while the last task is neither done nor dead")
	numberFlag(flags, &f.priority, "priority", 0, "0 to 9; ready tasks of a higher priority are handed out first")
	numberFlag(flags, &f.maxAttempts, "max-attempts", 0, "number of failed attempts after which a task is dead; 0: the queue's value")
	durationFlag(flags, &f.lease, "lease", "how long a lease lasts if the claim sets none; default: the queue's value")
	durationFlag(flags, &f.ttl, "ttl", "time to live; after it a task becomes a dead letter")
	durationFlag(flags, &f.retain, "result-retention", "how long results are retained; default: the queue's value")
	flags.Var(headersValue{&f.headers}, "header", "header of the tasks, as in kind=digest; may be repeated")
	flags.StringVar(&f.payload.file, "file", "", "read the payload from this file")
}

func (a recurringCommands) set() *cobra.Command {
	var f recurringFlags
	c := &cobra.Command{
		Use:   "set QUEUE NAME [PAYLOAD]",
		Short: "Create a recurring task, or replace it",
		Long: `Creates a recurring task, or replaces its schedule, policies and template. At each due time, it enqueues a task
with the payload. Each due time becomes at most one task, also if the leader fails.

If the schedule stays the same, so do the due times, the counters and the pause. A new schedule is first due after
now.`,
		Example: `  queued recurring set reports digest --cron '30 8 * * mon-fri' --time-zone Europe/Berlin 'daily'
  queued recurring set reports cleanup --interval 15m --jitter 1m --overlap skip
  queued recurring set reports invoices --cron '0 0 1 * *' --missed run-all --missed-max 12 --header kind=invoice`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) < 2 || len(args) > 3 {
				return fmt.Errorf("'%s' takes QUEUE, NAME and at most one payload: got %d arguments, put the payload in quotes", c.CommandPath(), len(args))
			}
			return nil
		},
	}
	f.define(c.Flags())
	conn := a.connect(c, true, true)
	f.payload.connection = conn
	c.RunE = func(c *cobra.Command, args []string) error {
		if (f.spec.GetCron() == "") == (f.interval == 0) {
			return usageError{errors.New("pass either --cron or --interval")}
		}
		var payload []byte
		if len(args) == 3 || f.payload.file != "" {
			var err error
			if payload, err = f.payload.payload(c.Context(), args[2:]); err != nil {
				return err
			}
		}
		spec := &f.spec
		spec.IntervalMs, spec.JitterMs, spec.MissedMax = ms(f.interval), ms(f.jitter), f.missedMax
		spec.Task = &adminpb.RecurringTemplate{
			Payload: payload, Headers: f.headers, Priority: f.priority, MaxAttempts: f.maxAttempts,
			LeaseMs: ms(f.lease), TtlMs: ms(f.ttl), ResultRetentionMs: ms(f.retain),
		}
		return conn.adminService(c, func(ctx context.Context, api adminpb.AdminServiceClient) error {
			out, err := api.SetRecurring(ctx, &adminpb.SetRecurringRequest{Tenant: conn.tenant, Queue: args[0], Name: args[1], Spec: spec})
			if err != nil {
				return err
			}
			return a.print(document(out), func(t *table) { recurringRows(t, out.GetRecurring()) })
		})
	}
	return c
}

func (a recurringCommands) list() *cobra.Command {
	var queue string
	var p pages
	c := &cobra.Command{
		Use:   "list",
		Short: "List recurring tasks with their next run",
		Example: `  queued recurring list
  queued recurring list --queue reports --output json`,
		Args: noArgs,
	}
	c.Flags().StringVar(&queue, "queue", "", "only those of this queue")
	p.flags(c.Flags())
	conn := a.connect(c, true, true)
	c.RunE = func(c *cobra.Command, _ []string) error {
		return conn.adminService(c, func(ctx context.Context, api adminpb.AdminServiceClient) error {
			all := &adminpb.ListRecurringResponse{}
			err := p.walk(a.app, func(size uint32, token string) (int, string, error) {
				out, err := api.ListRecurring(ctx, &adminpb.ListRecurringRequest{Tenant: conn.tenant, Queue: queue, PageSize: size, PageToken: token})
				all.Recurring = append(all.Recurring, out.GetRecurring()...)
				all.NextPageToken = out.GetNextPageToken()
				return len(out.GetRecurring()), out.GetNextPageToken(), err
			})
			if err != nil {
				return err
			}
			defer a.more(all.GetNextPageToken())
			return a.print(document(all), func(t *table) {
				t.row("QUEUE", "NAME", "SCHEDULE", "NEXT", "RUNS", "MISSED", "OVERLAPPED", "REFUSED", "")
				for _, r := range all.GetRecurring() {
					paused, next := "", int64(0)
					if r.GetPaused() {
						paused = "paused"
					}
					if n := r.GetNextMs(); len(n) > 0 {
						next = n[0]
					}
					t.row(r.GetQueue(), r.GetName(), scheduleText(r.GetSpec()), when(next), r.GetRuns(), r.GetMissed(), r.GetOverlapped(), r.GetRefused(), paused)
				}
			})
		})
	}
	return c
}

func scheduleText(s *adminpb.RecurringSpec) string {
	if s.GetIntervalMs() > 0 {
		return "every " + spell(s.GetIntervalMs())
	}
	return s.GetCron() + " " + or(s.GetTimeZone(), "UTC")
}

func recurringRows(t *table, r *adminpb.Recurring) {
	s, task := r.GetSpec(), r.GetSpec().GetTask()
	t.row("tenant", r.GetTenant())
	t.row("queue", r.GetQueue())
	t.row("name", r.GetName())
	t.row("schedule", scheduleText(s))
	t.row("jitter", none(s.GetJitterMs()))
	missed := or(strings.ReplaceAll(word(s.GetMissed()), "_", "-"), "run-once")
	if s.GetMissedMax() > 0 {
		missed += fmt.Sprintf(", at most %d", s.GetMissedMax())
	}
	t.row("missed runs", missed)
	t.row("overlap", or(word(s.GetOverlap()), "allow"))
	t.row("paused", r.GetPaused())
	for i, at := range r.GetNextMs() {
		label := "next"
		if i > 0 {
			label = ""
		}
		t.row(label, when(at))
	}
	last := or(r.GetLastId(), "-")
	if r.GetUnfinished() {
		last += ", unfinished"
	}
	t.row("last task", last)
	t.row("runs", r.GetRuns())
	t.row("missed", r.GetMissed())
	t.row("overlapped", r.GetOverlapped())
	t.row("refused", r.GetRefused())
	t.row("priority", task.GetPriority())
	t.row("headers", or(strings.Join(headers(&queuepb.Task{Headers: task.GetHeaders()}), " "), "-"))
	t.row("payload", clip(string(task.GetPayload())))
}

// one returns a command on one recurring task. call makes the call and prints its result.
func (a recurringCommands) one(c *cobra.Command, call func(ctx context.Context, api adminpb.AdminServiceClient, tenant, queue, name string) error) *cobra.Command {
	c.Use += " QUEUE NAME"
	c.Args = func(c *cobra.Command, args []string) error {
		if len(args) != 2 {
			return fmt.Errorf("'%s' takes two arguments, QUEUE and NAME: got %d", c.CommandPath(), len(args))
		}
		return nil
	}
	conn := a.connect(c, true, true)
	c.RunE = func(c *cobra.Command, args []string) error {
		return conn.adminService(c, func(ctx context.Context, api adminpb.AdminServiceClient) error {
			return call(ctx, api, conn.tenant, args[0], args[1])
		})
	}
	return c
}

func (a recurringCommands) printDone(queue, name, done string) error {
	return a.print(members{{"queue", queue}, {"name", name}, {"done", done}}, func(t *table) { t.row(queue, name, done) })
}

func (a recurringCommands) show() *cobra.Command {
	return a.one(&cobra.Command{
		Use:     "show",
		Short:   "Show a recurring task with its next five due times",
		Example: `  queued recurring show reports digest`,
	}, func(ctx context.Context, api adminpb.AdminServiceClient, tenant, queue, name string) error {
		out, err := api.GetRecurring(ctx, &adminpb.GetRecurringRequest{Tenant: tenant, Queue: queue, Name: name})
		if err != nil {
			return err
		}
		return a.print(document(out), func(t *table) { recurringRows(t, out.GetRecurring()) })
	})
}

func (a recurringCommands) pause() *cobra.Command {
	return a.one(&cobra.Command{
		Use:     "pause",
		Short:   "Stop the runs of a recurring task",
		Long:    "Stops the runs of a recurring task. Due times during the pause are neither run nor missed.",
		Example: `  queued recurring pause reports digest`,
	}, func(ctx context.Context, api adminpb.AdminServiceClient, tenant, queue, name string) error {
		if _, err := api.PauseRecurring(ctx, &adminpb.PauseRecurringRequest{Tenant: tenant, Queue: queue, Name: name}); err != nil {
			return err
		}
		return a.printDone(queue, name, "paused")
	})
}

func (a recurringCommands) resume() *cobra.Command {
	return a.one(&cobra.Command{
		Use:     "resume",
		Short:   "End a pause",
		Example: `  queued recurring resume reports digest`,
	}, func(ctx context.Context, api adminpb.AdminServiceClient, tenant, queue, name string) error {
		if _, err := api.ResumeRecurring(ctx, &adminpb.ResumeRecurringRequest{Tenant: tenant, Queue: queue, Name: name}); err != nil {
			return err
		}
		return a.printDone(queue, name, "resumed")
	})
}

func (a recurringCommands) runNow() *cobra.Command {
	return a.one(&cobra.Command{
		Use:   "run",
		Short: "Enqueue a task of a recurring task now",
		Long: `Enqueues a task of a recurring task now and prints its id, even if the recurring task is paused or its last task is
unfinished. The due times stay as they are.`,
		Example: `  queued recurring run reports digest`,
	}, func(ctx context.Context, api adminpb.AdminServiceClient, tenant, queue, name string) error {
		out, err := api.RunRecurring(ctx, &adminpb.RunRecurringRequest{Tenant: tenant, Queue: queue, Name: name})
		if err != nil {
			return err
		}
		return a.print(document(out), func(t *table) { t.row(out.GetId()) })
	})
}

func (a recurringCommands) remove() *cobra.Command {
	return a.one(&cobra.Command{
		Use:     "delete",
		Short:   "Remove a recurring task; tasks that it enqueued stay",
		Example: `  queued recurring delete reports digest`,
	}, func(ctx context.Context, api adminpb.AdminServiceClient, tenant, queue, name string) error {
		if _, err := api.DeleteRecurring(ctx, &adminpb.DeleteRecurringRequest{Tenant: tenant, Queue: queue, Name: name}); err != nil {
			return err
		}
		return a.printDone(queue, name, "deleted")
	})
}
