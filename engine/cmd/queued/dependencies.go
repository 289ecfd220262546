package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/engine/queuepb"
)

func (a taskCommands) dependencies() *cobra.Command {
	var p pages
	c := &cobra.Command{
		Use:   "dependencies ID",
		Short: "List the finished tasks that a task waited for",
		Long: `Lists the finished tasks that a task waited for: those of --after of 'queued enqueue', and the members of its
batch. The results are those of the tasks that are done, up to 4 KiB each. The list ends with the task.`,
		Example: `  queued dependencies 0000000000000000000000g1
  queued dependencies 0000000000000000000000g1 --limit 1000 --output json`,
		Args: oneArg("ID"),
	}
	p.flags(c.Flags())
	conn := a.connect(c, false, true)
	c.RunE = func(c *cobra.Command, args []string) error {
		return conn.queueService(c, func(ctx context.Context, api queuepb.QueueServiceClient) error {
			all := &queuepb.ListDependenciesResponse{}
			err := p.walk(a.app, func(size uint32, token string) (int, string, error) {
				ctx, cancel := conn.bounded(ctx, 0)
				defer cancel()
				out, err := api.ListDependencies(ctx, &queuepb.ListDependenciesRequest{Tenant: conn.tenant, Id: args[0], PageSize: size, PageToken: token})
				all.Dependencies = append(all.Dependencies, out.GetDependencies()...)
				all.NextPageToken, all.WaitingFor = out.GetNextPageToken(), out.GetWaitingFor()
				return len(out.GetDependencies()), out.GetNextPageToken(), err
			})
			if err != nil {
				return err
			}
			defer a.more(all.GetNextPageToken())
			if all.GetWaitingFor() > 0 && a.output == formatTable {
				a.note("the task still waits for %s\n", count(uint64(all.GetWaitingFor()), "task"))
			}
			return a.print(document(all), func(t *table) {
				t.row("ID", "OUTCOME", "RESULT")
				for _, d := range all.GetDependencies() {
					result := clip(string(d.GetResult()))
					if d.GetResultOmitted() {
						result = "(longer than 4 KiB)"
					}
					t.row(d.GetId(), word(d.GetOutcome()), result)
				}
			})
		})
	}
	return c
}
