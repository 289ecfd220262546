package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queuepb"
)

// deadCommands contains the subcommands of dead.
type deadCommands struct{ *app }

func (a deadCommands) dead() *cobra.Command {
	return group("dead", "List, edit, redrive and purge dead letters", `  queued dead list --queue mail
  queued dead edit 0000000000000000000000g1 '{"to": "jo@example.org"}'
  queued dead redrive --queue mail --error-contains timeout
  queued dead purge --queue mail --all`,
		a.list(), a.edit(), a.redrive(), a.purge())
}

// deadFlags select dead tasks by a filter, or select all dead tasks of a queue.
type deadFlags struct {
	queue, contains, kind string
	header                *adminpb.HeaderFilter
	reason                adminpb.DeathReason
	from, before          time.Time
	all                   bool
}

func (f *deadFlags) define(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&f.queue, "queue", "", "queue of the dead letters")
	wordFlag(flags, &f.reason, "reason", []string{"attempts", "expired", "permanent", "dependency"},
		[]adminpb.DeathReason{adminpb.DeathReason_DEATH_REASON_ATTEMPTS, adminpb.DeathReason_DEATH_REASON_EXPIRED, adminpb.DeathReason_DEATH_REASON_PERMANENT, adminpb.DeathReason_DEATH_REASON_DEPENDENCY},
		"attempts: only those that used up their attempts; expired: only those whose time to live ended; permanent: only those that a worker failed permanently")
	flags.StringVar(&f.contains, "error-contains", "", "only those whose last error contains this text")
	flags.StringVar(&f.kind, "kind", "", "only those whose header kind has this value")
	flags.Var(headerFilterValue{&f.header}, "header", "only those with this header, as in trace=7f3a")
	flags.Var(timeValue{&f.from}, "died-from", "only those that died at this time or later")
	flags.Var(timeValue{&f.before}, "died-before", "only those that died before this time")
}

func (f *deadFlags) filters() bool {
	return f.reason != 0 || f.contains != "" || f.kind != "" || f.header != nil || !f.from.IsZero() || !f.before.IsZero()
}

// filter returns the filter that the flags describe. With --all it returns an empty filter; if no
// flag selects dead tasks, it returns nil.
func (f *deadFlags) filter() *adminpb.DeadFilter {
	if !f.all && !f.filters() {
		return nil
	}
	out := &adminpb.DeadFilter{Reason: f.reason, ErrorContains: f.contains, Kind: f.kind, Header: f.header}
	if !f.from.IsZero() {
		out.DiedFromMs = f.from.UnixMilli()
	}
	if !f.before.IsZero() {
		out.DiedBeforeMs = f.before.UnixMilli()
	}
	return out
}

// choose returns an error unless the ids and flags select dead tasks unambiguously.
func (f *deadFlags) choose(ids []string) error {
	switch {
	case len(ids) > 0 && (f.queue != "" || f.all || f.filters()):
		return usageError{errors.New("ids and a queue are both given: pass either ids, or --queue with a filter or --all")}
	case len(ids) > batchTasksMax:
		return usageError{fmt.Errorf("%d ids are too many for one call: pass at most %d", len(ids), batchTasksMax)}
	case len(ids) > 0:
		return nil
	case f.queue == "":
		return usageError{errors.New("pass ids, or --queue with a filter or --all")}
	case f.all && f.filters():
		return usageError{errors.New("--all and a filter are both given: pass one of them")}
	case !f.all && !f.filters():
		return usageError{fmt.Errorf("no selection of dead letters of queue %s: pass a filter, or --all", f.queue)}
	}
	return nil
}

func (f *deadFlags) words(ids []string) string {
	switch {
	case len(ids) > 0:
		return count(len(ids), "dead letter")
	case f.all:
		return "all dead letters of queue " + f.queue
	}
	return "the dead letters of queue " + f.queue + " that match the filter"
}

func (a deadCommands) list() *cobra.Command {
	var f deadFlags
	var p pages
	c := &cobra.Command{
		Use:   "list --queue QUEUE",
		Short: "List a queue's dead letters",
		Long:  "Lists a queue's dead letters. With --output json each has the history of its attempts.",
		Example: `  queued dead list --queue mail
  queued dead list --queue mail --reason expired --died-from 2030-01-31T00:00:00Z`,
		Args: noArgs,
	}
	f.define(c)
	p.flags(c.Flags())
	needs(c, "queue")
	conn := a.connect(c, true, true)
	c.RunE = func(c *cobra.Command, _ []string) error {
		return conn.adminService(c, func(ctx context.Context, api adminpb.AdminServiceClient) error {
			all := &adminpb.ListDeadResponse{}
			err := p.walk(a.app, func(size uint32, token string) (int, string, error) {
				out, err := api.ListDead(ctx, &adminpb.ListDeadRequest{Tenant: conn.tenant, Queue: f.queue, Filter: f.filter(), PageSize: size, PageToken: token})
				all.Tasks = append(all.Tasks, out.GetTasks()...)
				all.NextPageToken = out.GetNextPageToken()
				return len(out.GetTasks()), out.GetNextPageToken(), err
			})
			if err != nil {
				return err
			}
			defer a.more(all.GetNextPageToken())
			return a.print(document(all), func(t *table) {
				var tasks []*queuepb.Task
				for _, d := range all.GetTasks() {
					tasks = append(tasks, d.GetTask())
				}
				column := headersColumnOf(tasks)
				column.row(t, "HEADERS", "PAYLOAD", "ID", "DIED", "REASON", "ATTEMPTS", "LAST ERROR")
				for i, d := range all.GetTasks() {
					column.row(t, clip(strings.Join(headers(tasks[i]), " ")), clip(string(tasks[i].GetPayload())),
						tasks[i].GetId(), when(d.GetDiedAtMs()), word(d.GetReason()), len(d.GetAttempts()), clip(tasks[i].GetLastError()))
				}
			})
		})
	}
	return c
}

func (a deadCommands) redrive() *cobra.Command {
	var f deadFlags
	c := &cobra.Command{
		Use:   "redrive [ID]...",
		Short: "Make dead letters ready again",
		Long:  "Makes dead letters ready again, with their ids, their history and a new set of attempts.",
		Example: `  queued dead redrive 0000000000000000000000g1
  queued dead redrive --queue mail --error-contains timeout
  queued dead redrive --queue mail --all`,
	}
	f.define(c)
	c.Flags().BoolVar(&f.all, "all", false, "all of the queue's dead letters")
	conn := a.connect(c, true, true)
	c.RunE = func(c *cobra.Command, ids []string) error {
		if err := f.choose(ids); err != nil {
			return err
		}
		return conn.adminService(c, func(ctx context.Context, api adminpb.AdminServiceClient) error {
			out, err := showing(a.app, "the server redrives "+f.words(ids), func() (*adminpb.RedriveDeadResponse, error) {
				return api.RedriveDead(ctx, &adminpb.RedriveDeadRequest{Tenant: conn.tenant, Ids: ids, Queue: f.queue, Filter: f.filter()})
			})
			if err != nil {
				return err
			}
			return a.printDead(ids, out.GetResults(), "redriven", out.GetRedriven())
		})
	}
	return c
}

func (a deadCommands) purge() *cobra.Command {
	var f deadFlags
	var yes bool
	c := &cobra.Command{
		Use:   "purge [ID]...",
		Short: "Permanently remove dead letters",
		Example: `  queued dead purge 0000000000000000000000g1
  queued dead purge --queue mail --died-before 2030-01-01T00:00:00Z
  queued dead purge --queue mail --all --yes`,
	}
	f.define(c)
	c.Flags().BoolVar(&f.all, "all", false, "all of the queue's dead letters")
	yesFlag(c, &yes)
	conn := a.connect(c, true, true)
	c.RunE = func(c *cobra.Command, ids []string) error {
		if err := f.choose(ids); err != nil {
			return err
		}
		if err := a.confirm("remove "+f.words(ids), yes); err != nil {
			return err
		}
		return conn.adminService(c, func(ctx context.Context, api adminpb.AdminServiceClient) error {
			out, err := showing(a.app, "the server removes "+f.words(ids), func() (*adminpb.PurgeDeadResponse, error) {
				return api.PurgeDead(ctx, &adminpb.PurgeDeadRequest{Tenant: conn.tenant, Ids: ids, Queue: f.queue, Filter: f.filter()})
			})
			if err != nil {
				return err
			}
			return a.printDead(ids, out.GetResults(), "removed", out.GetRemoved())
		})
	}
	return c
}

// printDead prints the result of a change. If ids is not empty, it prints one line for each id;
// otherwise it prints the number of changed tasks, n.
func (a deadCommands) printDead(ids []string, results []*queuepb.SettleResult, done string, n uint64) error {
	if len(ids) > 0 {
		return a.printResults(ids, results, done)
	}
	return a.print(members{{done, strconv.FormatUint(n, 10)}}, func(t *table) { t.row(count(n, "dead letter") + " " + done) })
}
