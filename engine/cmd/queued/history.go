package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/engine/adminpb"
)

func (a taskCommands) history() *cobra.Command {
	in := &adminpb.ListHistoryRequest{}
	var from, before time.Time
	var p pages
	c := &cobra.Command{
		Use:   "history --queue QUEUE | --id ID",
		Short: "List finished tasks of a queue that has a history",
		Long: `Lists the tasks of a queue that finished, the latest of each shard first: completed, died, cancelled or purged.
The queue must have a history: see --history-max and --history-retention of 'queued queues configure'. With --id
it shows whether one task finished; the queue is then not needed.`,
		Example: `  queued tasks history --queue mail
  queued tasks history --id 0000000000000000000000g1
  queued tasks history --queue mail --finish died --kind welcome
  queued tasks history --queue mail --finished-from 2030-01-31T00:00:00Z --output json`,
		Args: noArgs,
	}
	flags := c.Flags()
	flags.StringVar(&in.Queue, "queue", "", "queue whose history to list")
	flags.StringVar(&in.Id, "id", "", "only this task")
	flags.StringVar(&in.Kind, "kind", "", "only tasks whose header kind has this value")
	flags.Var(headerFilterValue{&in.Header}, "header", "only tasks with this header, as in trace=7f3a")
	wordFlag(flags, &in.Finish, "finish", []string{"completed", "died", "cancelled", "purged"}, []adminpb.Finish{
		adminpb.Finish_FINISH_COMPLETED, adminpb.Finish_FINISH_DIED, adminpb.Finish_FINISH_CANCELLED, adminpb.Finish_FINISH_PURGED,
	}, "only tasks that finished so: completed, died, cancelled or purged")
	flags.Var(timeValue{&from}, "finished-from", "only tasks that finished at this time or later")
	flags.Var(timeValue{&before}, "finished-before", "only tasks that finished before this time")
	p.flags(flags)
	conn := a.connect(c, true, true)
	c.RunE = func(c *cobra.Command, _ []string) error {
		if in.GetQueue() == "" && in.GetId() == "" {
			return usageError{errors.New("pass --queue, or --id for one task")}
		}
		if !from.IsZero() {
			in.FinishedFromMs = from.UnixMilli()
		}
		if !before.IsZero() {
			in.FinishedBeforeMs = before.UnixMilli()
		}
		return conn.adminService(c, func(ctx context.Context, api adminpb.AdminServiceClient) error {
			in.Tenant = conn.tenant
			all := &adminpb.ListHistoryResponse{}
			err := p.walk(a.app, func(size uint32, token string) (int, string, error) {
				in.PageSize, in.PageToken = size, token
				out, err := api.ListHistory(ctx, in)
				all.Tasks = append(all.Tasks, out.GetTasks()...)
				all.NextPageToken = out.GetNextPageToken()
				return len(out.GetTasks()), out.GetNextPageToken(), err
			})
			if err != nil {
				return err
			}
			defer a.more(all.GetNextPageToken())
			return a.print(document(all), func(t *table) {
				t.row("ID", "QUEUE", "FINISH", "REASON", "ATTEMPTS", "ENQUEUED", "CLAIMED", "FINISHED", "KIND", "ERROR")
				for _, f := range all.GetTasks() {
					t.row(f.GetId(), f.GetQueue(), word(f.GetFinish()), word(f.GetDeathReason()), f.GetAttempts(), when(f.GetEnqueuedAtMs()),
						when(f.GetLastClaimedAtMs()), when(f.GetFinishedAtMs()), f.GetHeaders()["kind"], clip(f.GetLastError()))
				}
			})
		})
	}
	return c
}
