package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queuepb"
)

func (a taskCommands) tasks() *cobra.Command {
	return group("tasks", "List a queue's tasks by state, list finished tasks and failures, and reschedule, prioritize and cancel tasks", `  queued tasks list --queue mail --state delayed
  queued tasks reschedule 0000000000000000000000g1 --now
  queued tasks cancel 0000000000000000000000g1`,
		a.list(), a.history(), a.attempts(), a.failures(), a.reschedule(), a.prioritize(), a.cancel())
}

func (a taskCommands) list() *cobra.Command {
	var queue, kind string
	var header *adminpb.HeaderFilter
	var state queuepb.TaskState
	var payloadMax uint64
	var p pages
	c := &cobra.Command{
		Use:   "list --queue QUEUE --state STATE",
		Short: "List a queue's tasks of one state",
		Long:  `Lists a queue's tasks of one state. Ready tasks of a shard are in claim order: the first ones are the next tasks.`,
		Example: `  queued tasks list --queue mail --state ready
  queued tasks list --queue mail --state ready --limit 5 --payload-max 1KiB
  queued tasks list --queue mail --state leased --kind welcome
  queued tasks list --queue mail --state leased --limit 1000 --output json`,
		Args: noArgs,
	}
	c.Flags().StringVar(&queue, "queue", "", "queue whose tasks to list")
	wordFlag(c.Flags(), &state, "state", []string{"ready", "delayed", "waiting", "leased", "dead"}, []queuepb.TaskState{
		queuepb.TaskState_TASK_STATE_READY, queuepb.TaskState_TASK_STATE_DELAYED, queuepb.TaskState_TASK_STATE_WAITING,
		queuepb.TaskState_TASK_STATE_LEASED, queuepb.TaskState_TASK_STATE_DEAD,
	}, "ready, delayed, waiting, leased or dead")
	c.Flags().StringVar(&kind, "kind", "", "only tasks whose header kind has this value")
	c.Flags().Var(headerFilterValue{&header}, "header", "only tasks with this header, as in trace=7f3a")
	c.Flags().Var(sizeValue{&payloadMax}, "payload-max", "cut longer payloads to this size")
	p.flags(c.Flags())
	needs(c, "queue", "state")
	conn := a.connect(c, true, true)
	c.RunE = func(c *cobra.Command, _ []string) error {
		if payloadMax > math.MaxUint32 {
			return usageError{fmt.Errorf("--payload-max: %d bytes are too many: use less than 4 GiB", payloadMax)}
		}
		return conn.adminService(c, func(ctx context.Context, api adminpb.AdminServiceClient) error {
			all := &adminpb.ListTasksResponse{}
			err := p.walk(a.app, func(size uint32, token string) (int, string, error) {
				out, err := api.ListTasks(ctx, &adminpb.ListTasksRequest{
					Tenant: conn.tenant, Queue: queue, State: state, Kind: kind, Header: header, PageSize: size, PageToken: token, PayloadBytesMax: uint32(payloadMax),
				})
				all.Tasks, all.PayloadBytes = append(all.Tasks, out.GetTasks()...), append(all.PayloadBytes, out.GetPayloadBytes()...)
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
				waiting := state == queuepb.TaskState_TASK_STATE_WAITING
				if waiting {
					names = append(names, "WAITS FOR")
				}
				if noted {
					names = append(names, "NOTE")
				}
				column.row(t, "HEADERS", "PAYLOAD", names...)
				for _, task := range all.GetTasks() {
					cells := []any{
						task.GetId(), task.GetPriority(), fmt.Sprintf("%d/%d", task.GetAttempt(), task.GetMaxAttempts()), when(task.GetEnqueuedAtMs()),
						when(task.GetDueAtMs()), when(task.GetLeaseExpiresAtMs()),
					}
					if waiting {
						cells = append(cells, task.GetWaitingFor())
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

func checkIDs(ids []string) error {
	if len(ids) == 0 || len(ids) > batchTasksMax {
		return usageError{fmt.Errorf("%s: pass 1 to %d", count(len(ids), "id"), batchTasksMax)}
	}
	return nil
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
		if err := checkIDs(ids); err != nil {
			return err
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
