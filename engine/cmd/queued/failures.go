package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/engine/adminpb"
)

func (a taskCommands) failures() *cobra.Command {
	var queue string
	var limit uint32
	c := &cobra.Command{
		Use:   "failures",
		Short: "List the latest failures",
		Long: `Lists the latest failed attempts, expired leases and tasks that died, the latest first. The server remembers
the last 128 of each shard since it started or the leader of the shard changed.`,
		Example: `  queued tasks failures
  queued tasks failures --queue mail --limit 10`,
		Args: noArgs,
	}
	c.Flags().StringVar(&queue, "queue", "", "only failures of this queue")
	numberFlag(c.Flags(), &limit, "limit", 100, "maximum number of failures to list, up to 1000")
	conn := a.connect(c, true, true)
	c.RunE = func(c *cobra.Command, _ []string) error {
		return conn.adminService(c, func(ctx context.Context, api adminpb.AdminServiceClient) error {
			out, err := api.ListFailures(ctx, &adminpb.ListFailuresRequest{Tenant: conn.tenant, Queue: queue, PageSize: limit})
			if err != nil {
				return err
			}
			return a.print(document(out), func(t *table) {
				t.row("TIME", "TENANT", "QUEUE", "ID", "ATTEMPT", "OUTCOME", "DEAD", "ERROR")
				for _, f := range out.GetFailures() {
					of := f.GetAttempt()
					t.row(when(of.GetEndedAtMs()), f.GetTenant(), f.GetQueue(), f.GetId(), of.GetAttempt(), word(of.GetOutcome()), word(f.GetDeathReason()), clip(of.GetError()))
				}
			})
		})
	}
	return c
}

func (a taskCommands) attempts() *cobra.Command {
	c := &cobra.Command{
		Use:     "attempts ID",
		Short:   "List the failed attempts of a task that is not done",
		Example: `  queued tasks attempts 0000000000000000000000g1`,
		Args:    oneArg("ID"),
	}
	conn := a.connect(c, true, true)
	c.RunE = func(c *cobra.Command, args []string) error {
		return conn.adminService(c, func(ctx context.Context, api adminpb.AdminServiceClient) error {
			out, err := api.ListAttempts(ctx, &adminpb.ListAttemptsRequest{Tenant: conn.tenant, Id: args[0]})
			if err != nil {
				return err
			}
			return a.print(document(out), func(t *table) {
				t.row("ATTEMPT", "ENDED", "OUTCOME", "ERROR")
				for _, of := range out.GetAttempts() {
					t.row(of.GetAttempt(), when(of.GetEndedAtMs()), word(of.GetOutcome()), clip(of.GetError()))
				}
			})
		})
	}
	return c
}
