package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/engine/adminpb"
)

func (a taskCommands) reschedule() *cobra.Command {
	var at time.Time
	var in time.Duration
	var now bool
	c := &cobra.Command{
		Use:   "reschedule ID... --at TIME|--in DURATION|--now",
		Short: "Change when tasks become ready",
		Long: `Changes when ready and delayed tasks become ready, also tasks that wait for their next attempt or for other tasks.
A task that is leased or dead is refused. With --now, a task that is ready already keeps its place.`,
		Example: `  queued tasks reschedule 0000000000000000000000g1 --now
  queued tasks reschedule 0000000000000000000000g1 0000000000000000000000g2 --in 30m
  queued tasks reschedule 0000000000000000000000g1 --at 09:00`,
	}
	c.Flags().Var(nextTimeValue{timeValue{&at}}, "at", `when they become ready: "09:00" means its next occurrence in local time; otherwise YYYY-MM-DDThh:mm:ssZ`)
	durationFlag(c.Flags(), &in, "in", "after how long they become ready")
	c.Flags().BoolVar(&now, "now", false, "they become ready now")
	conn := a.connect(c, true, true)
	c.RunE = func(c *cobra.Command, ids []string) error {
		if err := checkIDs(ids); err != nil {
			return err
		}
		given := 0
		for _, name := range []string{"at", "in", "now"} {
			if c.Flags().Changed(name) {
				given++
			}
		}
		if given != 1 {
			return usageError{errors.New("pass one of --at, --in and --now")}
		}
		due := int64(0)
		switch {
		case !at.IsZero():
			due = at.UnixMilli()
		case in > 0:
			due = time.Now().Add(in).UnixMilli()
		}
		return conn.adminService(c, func(ctx context.Context, api adminpb.AdminServiceClient) error {
			out, err := api.RescheduleTasks(ctx, &adminpb.RescheduleTasksRequest{Tenant: conn.tenant, Ids: ids, DueAtMs: due})
			if err != nil {
				return err
			}
			return a.printResults(ids, out.GetResults(), "rescheduled")
		})
	}
	return c
}

func (a taskCommands) prioritize() *cobra.Command {
	var priority uint32
	c := &cobra.Command{
		Use:   "prioritize ID... --priority PRIORITY",
		Short: "Change the priority of tasks",
		Long: `Changes the priority of tasks that are not leased. The tasks keep their ids, and their age among the tasks of the
new priority. A dead letter has the new priority once it is redriven.`,
		Example: `  queued tasks prioritize 0000000000000000000000g1 --priority 9
  queued tasks prioritize 0000000000000000000000g1 0000000000000000000000g2 --priority 0`,
	}
	numberFlag(c.Flags(), &priority, "priority", 0, "0 to 9; ready tasks of a higher priority are handed out first")
	needs(c, "priority")
	conn := a.connect(c, true, true)
	c.RunE = func(c *cobra.Command, ids []string) error {
		if err := checkIDs(ids); err != nil {
			return err
		}
		return conn.adminService(c, func(ctx context.Context, api adminpb.AdminServiceClient) error {
			out, err := api.PrioritizeTasks(ctx, &adminpb.PrioritizeTasksRequest{Tenant: conn.tenant, Ids: ids, Priority: priority})
			if err != nil {
				return err
			}
			return a.printResults(ids, out.GetResults(), "prioritized")
		})
	}
	return c
}
