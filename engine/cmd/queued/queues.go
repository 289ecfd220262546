package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/config"
)

// queueCommands contains the subcommands of queues.
type queueCommands struct{ *app }

func (a queueCommands) queues() *cobra.Command {
	return group("queues", "List, show, configure, pause, resume, purge and delete queues", `  queued queues list
  queued queues show mail
  queued queues configure mail --max-attempts 5 --lease 2m
  queued queues pause mail`,
		a.list(), a.show(), a.configure(), a.pause(), a.resume(), a.purge(), a.remove())
}

func (a queueCommands) list() *cobra.Command {
	var prefix string
	var p pages
	c := &cobra.Command{
		Use:   "list",
		Short: "List queues with their statistics",
		Example: `  queued queues list
  queued queues list --prefix import/ --output json`,
		Args: noArgs,
	}
	c.Flags().StringVar(&prefix, "prefix", "", "only queues whose names begin with this text")
	p.flags(c.Flags())
	conn := a.connect(c, true, true)
	c.RunE = func(c *cobra.Command, _ []string) error {
		return conn.adminService(c, func(ctx context.Context, api adminpb.AdminServiceClient) error {
			all := &adminpb.ListQueuesResponse{}
			err := p.walk(a.app, func(size uint32, token string) (int, string, error) {
				out, err := api.ListQueues(ctx, &adminpb.ListQueuesRequest{Tenant: conn.tenant, Prefix: prefix, PageSize: size, PageToken: token})
				all.Queues = append(all.Queues, out.GetQueues()...)
				all.NextPageToken = out.GetNextPageToken()
				return len(out.GetQueues()), out.GetNextPageToken(), err
			})
			if err != nil {
				return err
			}
			defer a.more(all.GetNextPageToken())
			return a.print(document(all), func(t *table) { queueTable(t, all.GetQueues()) })
		})
	}
	return c
}

func queueTable(t *table, queues []*adminpb.Queue) {
	t.row("TENANT", "QUEUE", "READY", "DELAYED", "LEASED", "DEAD", "BYTES", "OLDEST", "IN/S", "OUT/S", "")
	for _, q := range queues {
		paused := ""
		if q.GetPaused() {
			paused = "paused"
		}
		t.row(q.GetTenant(), q.GetQueue(), q.GetReady(), q.GetDelayed(), q.GetLeased(), q.GetDead(), q.GetBytes(), age(q),
			fmt.Sprintf("%.1f", q.GetEnqueuedPerS()), fmt.Sprintf("%.1f", q.GetCompletedPerS()), paused)
	}
}

func age(q *adminpb.Queue) string {
	if q.GetReady() == 0 {
		return "-"
	}
	return spell(q.GetOldestReadyAgeMs())
}

func spell(ms uint64) string {
	d := time.Duration(min(ms, uint64(1<<43))) * time.Millisecond
	if d > 10*time.Second {
		d = d.Round(time.Second)
	}
	return config.FormatDuration(d)
}

func (a queueCommands) show() *cobra.Command {
	c := &cobra.Command{
		Use:   "show QUEUE",
		Short: "Show a queue's statistics and policy",
		Long: `Show a queue's statistics and policy.

The numbers from failed attempts to cancelled count since the server started or began to lead the
queue's shards; the others since the queue was created.`,
		Example: `  queued queues show mail`,
		Args:    oneArg("QUEUE"),
	}
	conn := a.connect(c, true, true)
	c.RunE = func(c *cobra.Command, args []string) error {
		return conn.adminService(c, func(ctx context.Context, api adminpb.AdminServiceClient) error {
			out, err := api.GetQueue(ctx, &adminpb.GetQueueRequest{Tenant: conn.tenant, Queue: args[0]})
			if err != nil {
				return err
			}
			return a.print(document(out), func(t *table) { queueRows(t, out.GetQueue()) })
		})
	}
	return c
}

func queueRows(t *table, q *adminpb.Queue) {
	t.row("tenant", q.GetTenant())
	t.row("queue", q.GetQueue())
	t.row("paused", q.GetPaused())
	t.row("ready", q.GetReady())
	t.row("parked", q.GetParked())
	t.row("delayed", q.GetDelayed())
	t.row("waiting", q.GetWaiting())
	t.row("leased", q.GetLeased())
	t.row("dead", q.GetDead())
	t.row("bytes", q.GetBytes())
	t.row("oldest ready", age(q))
	t.row("enqueued", fmt.Sprintf("%d, %.1f/s", q.GetEnqueued(), q.GetEnqueuedPerS()))
	t.row("completed", fmt.Sprintf("%d, %.1f/s", q.GetCompleted(), q.GetCompletedPerS()))
	t.row("removed", q.GetRemoved())
	e := q.GetEvents()
	t.row("failed attempts", e.GetFailedAttempts())
	t.row("expired leases", e.GetExpiredLeases())
	t.row("retries", e.GetRetries())
	t.row("died", fmt.Sprintf("attempts %d, expired %d, permanent %d, dependency %d", e.GetDeadAttempts(), e.GetDeadExpired(), e.GetDeadPermanent(), e.GetDeadDependency()))
	t.row("cancelled", e.GetCancelled())
	p := q.GetPolicy()
	t.row("placement", or(word(p.GetPlacement()), "spread"))
	t.row("max attempts", ofServer(uint64(p.GetMaxAttempts()), fmt.Sprint(p.GetMaxAttempts())))
	t.row("lease", ofServer(p.GetLeaseMs(), spell(p.GetLeaseMs())))
	b := p.GetBackoff()
	t.row("backoff", fmt.Sprintf("initial %s, max %s, multiplier %s, jitter %s",
		ofServer(b.GetInitialMs(), spell(b.GetInitialMs())), ofServer(b.GetMaxMs(), spell(b.GetMaxMs())),
		ofServer(uint64(b.GetMultiplierPercent()), fmt.Sprintf("%d%%", b.GetMultiplierPercent())),
		ofServer(uint64(b.GetJitterPercent()), fmt.Sprintf("%d%%", b.GetJitterPercent()))))
	t.row("time to live", none(p.GetTtlMs()))
	t.row("results kept", none(p.GetResultRetentionMs()))
	t.row("history", historyOf(p))
	t.row("key window", ofServer(p.GetKeyWindowMs(), spell(p.GetKeyWindowMs())))
	t.row("limit", limitText(p.GetLimit()))
	t.row("group limit", limitText(p.GetGroupLimit()))
}

func limitText(l *adminpb.Limit) string {
	var parts []string
	if n := l.GetLeasedMax(); n > 0 {
		parts = append(parts, fmt.Sprintf("%d leased", n))
	}
	if n := l.GetRatePerS(); n > 0 {
		parts = append(parts, fmt.Sprintf("%g/s", n))
	}
	if n := l.GetBurst(); n > 0 {
		parts = append(parts, fmt.Sprintf("burst %d", n))
	}
	return or(strings.Join(parts, ", "), "none")
}

// historyOf describes the history of a queue.
func historyOf(p *adminpb.QueuePolicy) string {
	var parts []string
	if n := p.GetHistoryTasksMax(); n > 0 {
		parts = append(parts, fmt.Sprintf("last %d tasks", n))
	}
	if ms := p.GetHistoryRetentionMs(); ms > 0 {
		parts = append(parts, "for "+spell(ms))
	}
	return or(strings.Join(parts, " "), "none")
}

// ofServer returns text, or "server's" if value is 0, which means the server's default.
func ofServer(value uint64, text string) string {
	if value == 0 {
		return "server's"
	}
	return text
}

func none(ms uint64) string {
	if ms == 0 {
		return "none"
	}
	return spell(ms)
}

func (a queueCommands) onQueue(c *cobra.Command, done string, call func(ctx context.Context, api adminpb.AdminServiceClient, tenant, queue string) error) *cobra.Command {
	c.Use += " QUEUE"
	c.Args = oneArg("QUEUE")
	conn := a.connect(c, true, true)
	c.RunE = func(c *cobra.Command, args []string) error {
		return conn.adminService(c, func(ctx context.Context, api adminpb.AdminServiceClient) error {
			if err := call(ctx, api, conn.tenant, args[0]); err != nil {
				return err
			}
			return a.print(members{{"queue", args[0]}, {"done", done}}, func(t *table) { t.row(args[0], done) })
		})
	}
	return c
}

func (a queueCommands) pause() *cobra.Command {
	return a.onQueue(&cobra.Command{
		Use:   "pause",
		Short: "Stop a queue from handing out tasks",
		Long: `Stops a queue from handing out tasks. It still accepts new tasks and settlements.

To pause a queue before its first task, create it with 'queued queues configure QUEUE --reset'.`,
		Example: `  queued queues pause mail`,
	}, "paused", func(ctx context.Context, api adminpb.AdminServiceClient, tenant, queue string) error {
		_, err := api.PauseQueue(ctx, &adminpb.PauseQueueRequest{Tenant: tenant, Queue: queue})
		return err
	})
}

func (a queueCommands) resume() *cobra.Command {
	return a.onQueue(&cobra.Command{
		Use:     "resume",
		Short:   "End a pause",
		Example: `  queued queues resume mail`,
	}, "resumed", func(ctx context.Context, api adminpb.AdminServiceClient, tenant, queue string) error {
		_, err := api.ResumeQueue(ctx, &adminpb.ResumeQueueRequest{Tenant: tenant, Queue: queue})
		return err
	})
}

func (a queueCommands) purge() *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use:   "purge QUEUE",
		Short: "Permanently remove a queue's ready, delayed and waiting tasks",
		Long:  "Permanently removes a queue's ready, delayed and waiting tasks. Leased and dead tasks stay.",
		Example: `  queued queues purge mail
  queued queues purge mail --yes`,
		Args: oneArg("QUEUE"),
	}
	yesFlag(c, &yes)
	conn := a.connect(c, true, true)
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := a.confirm(fmt.Sprintf("remove all ready, delayed and waiting tasks of queue %s", args[0]), yes); err != nil {
			return err
		}
		return conn.adminService(c, func(ctx context.Context, api adminpb.AdminServiceClient) error {
			out, err := showing(a.app, "the server removes tasks of queue "+args[0], func() (*adminpb.PurgeQueueResponse, error) {
				return api.PurgeQueue(ctx, &adminpb.PurgeQueueRequest{Tenant: conn.tenant, Queue: args[0]})
			})
			if err != nil {
				return err
			}
			return a.print(document(out), func(t *table) { t.row(count(out.GetRemoved(), "task") + " removed") })
		})
	}
	return c
}

func (a queueCommands) remove() *cobra.Command {
	var yes, force bool
	c := &cobra.Command{
		Use:   "delete QUEUE",
		Short: "Remove a queue with its policy and statistics",
		Long: `Removes a queue that has neither tasks nor recurring tasks, with its policy and statistics. With --force it first
removes the queue's recurring tasks, and its tasks in all states. The results of its tasks can no longer be read.`,
		Example: `  queued queues delete mail
  queued queues delete mail --force --yes`,
		Args: oneArg("QUEUE"),
	}
	yesFlag(c, &yes)
	c.Flags().BoolVar(&force, "force", false, "remove the queue's recurring tasks and tasks first, including leased and dead tasks")
	conn := a.connect(c, true, true)
	c.RunE = func(c *cobra.Command, args []string) error {
		what := "remove queue " + args[0]
		if force {
			what += " and all of its tasks"
		}
		if err := a.confirm(what, yes); err != nil {
			return err
		}
		return conn.adminService(c, func(ctx context.Context, api adminpb.AdminServiceClient) error {
			out, err := showing(a.app, "the server removes queue "+args[0], func() (*adminpb.DeleteQueueResponse, error) {
				return api.DeleteQueue(ctx, &adminpb.DeleteQueueRequest{Tenant: conn.tenant, Queue: args[0], Force: force})
			})
			if err != nil {
				return err
			}
			return a.print(document(out), func(t *table) { t.row(args[0] + " deleted, " + count(out.GetRemoved(), "task") + " removed") })
		})
	}
	return c
}

func yesFlag(c *cobra.Command, yes *bool) {
	c.Flags().BoolVar(yes, "yes", false, "skip the confirmation")
}
