package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queuepb"
)

func (a taskCommands) tasks() *cobra.Command {
	return group("tasks", "List a queue's tasks by state, list failures, and cancel tasks", `  queued tasks list --queue mail --state delayed
  queued tasks cancel 0000000000000000000000g1`,
		a.list(), a.attempts(), a.failures(), a.cancel())
}

func (a taskCommands) list() *cobra.Command {
	var queue, kind string
	var header *adminpb.HeaderFilter
	var state queuepb.TaskState
	var p pages
	c := &cobra.Command{
		Use:   "list --queue QUEUE --state STATE",
		Short: "List a queue's tasks of one state",
		Example: `  queued tasks list --queue mail --state ready
  queued tasks list --queue mail --state leased --kind welcome
  queued tasks list --queue mail --state leased --limit 1000 --output json`,
		Args: noArgs,
	}
	c.Flags().StringVar(&queue, "queue", "", "queue whose tasks to list")
	wordFlag(c.Flags(), &state, "state", []string{"ready", "delayed", "leased", "dead"}, []queuepb.TaskState{
		queuepb.TaskState_TASK_STATE_READY, queuepb.TaskState_TASK_STATE_DELAYED, queuepb.TaskState_TASK_STATE_LEASED, queuepb.TaskState_TASK_STATE_DEAD,
	}, "ready, delayed, leased or dead")
	c.Flags().StringVar(&kind, "kind", "", "only tasks whose header kind has this value")
	c.Flags().Var(headerFilterValue{&header}, "header", "only tasks with this header, as in trace=7f3a")
	p.flags(c.Flags())
	needs(c, "queue", "state")
	conn := a.connect(c, true, true)
	c.RunE = func(c *cobra.Command, _ []string) error {
		return conn.adminService(c, func(ctx context.Context, api adminpb.AdminServiceClient) error {
			all := &adminpb.ListTasksResponse{}
			err := p.walk(a.app, func(size uint32, token string) (int, string, error) {
				out, err := api.ListTasks(ctx, &adminpb.ListTasksRequest{Tenant: conn.tenant, Queue: queue, State: state, Kind: kind, Header: header, PageSize: size, PageToken: token})
				all.Tasks = append(all.Tasks, out.GetTasks()...)
				all.NextPageToken = out.GetNextPageToken()
				return len(out.GetTasks()), out.GetNextPageToken(), err
			})
			if err != nil {
				return err
			}
			defer a.more(all.GetNextPageToken())
			return a.print(document(all), func(t *table) {
				column := headersColumnOf(all.GetTasks())
				names := []any{"ID", "PRIORITY", "ATTEMPTS", "ENQUEUED", "DUE", "LEASED UNTIL"}
				noted := slices.ContainsFunc(all.GetTasks(), func(t *queuepb.Task) bool { return t.GetNote() != "" })
				if noted {
					names = append(names, "NOTE")
				}
				column.row(t, "HEADERS", "PAYLOAD", names...)
				for _, task := range all.GetTasks() {
					cells := []any{
						task.GetId(), task.GetPriority(), fmt.Sprintf("%d/%d", task.GetAttempt(), task.GetMaxAttempts()), when(task.GetEnqueuedAtMs()),
						when(task.GetDueAtMs()), when(task.GetLeaseExpiresAtMs()),
					}
					if noted {
						cells = append(cells, clip(task.GetNote()))
					}
					column.row(t, clip(strings.Join(headers(task), " ")), clip(string(task.GetPayload())), cells...)
				}
			})
		})
	}
	return c
}

func (a taskCommands) cancel() *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use:   "cancel ID...",
		Short: "Remove tasks that are not done",
		Long: `Permanently removes tasks that are not done, in all states. The lease of a leased task ends: the server tells the
worker that holds it, and refuses to settle the task.`,
		Example: `  queued tasks cancel 0000000000000000000000g1
  queued tasks cancel --yes 0000000000000000000000g1 0000000000000000000000g2`,
	}
	yesFlag(c, &yes)
	conn := a.connect(c, true, true)
	c.RunE = func(c *cobra.Command, ids []string) error {
		if len(ids) == 0 || len(ids) > batchTasksMax {
			return usageError{fmt.Errorf("%s: pass 1 to %d", count(len(ids), "id"), batchTasksMax)}
		}
		if err := a.confirm("remove "+count(len(ids), "task"), yes); err != nil {
			return err
		}
		return conn.adminService(c, func(ctx context.Context, api adminpb.AdminServiceClient) error {
			out, err := api.CancelTasks(ctx, &adminpb.CancelTasksRequest{Tenant: conn.tenant, Ids: ids})
			if err != nil {
				return err
			}
			return a.printResults(ids, out.GetResults(), "cancelled")
		})
	}
	return c
}
