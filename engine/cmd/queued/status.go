package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/cmd/queued/doctor"
)

func (a serverCommands) status() *cobra.Command {
	c := &cobra.Command{
		Use:     "status",
		Short:   "Show a server's version, configuration and state",
		Long:    "Shows a server's version, configuration and state. It ends with 0 only if the server is ready.",
		Example: `  queued status`,
		Args:    noArgs,
	}
	conn := a.connect(c, true, false)
	c.RunE = func(c *cobra.Command, _ []string) error {
		return conn.adminService(c, func(ctx context.Context, api adminpb.AdminServiceClient) error {
			out, err := api.GetStatus(ctx, &adminpb.GetStatusRequest{})
			if err != nil {
				return err
			}
			var notReady error
			if !out.GetReady() {
				notReady = fmt.Errorf("the server is not ready: %s", or(out.GetNotReadyReason(), "no reason given"))
			}
			return errors.Join(notReady, a.print(document(out), func(t *table) {
				t.row("version", programOf(out))
				t.row("ready", out.GetReady())
				t.row("started", when(out.GetStartedAtMs()))
				t.row("durability", out.GetDurability())
				t.row("shards", out.GetShards())
				t.row("queues", out.GetQueues())
				t.row("tasks", out.GetTasks())
				if d := out.GetDisk(); d != nil {
					t.row("disk", fmt.Sprintf("%s, %s free of %s", diskWord(d.GetState()), doctor.Round(d.GetFreeBytes()), doctor.Round(d.GetTotalBytes())))
					if d.GetReason() != "" {
						t.row("refused", d.GetReason())
					}
				}
			}))
		})
	}
	return c
}

func diskWord(s adminpb.DiskState) string {
	if s == adminpb.DiskState_DISK_STATE_UNSPECIFIED {
		return "-"
	}
	return strings.ToLower(strings.TrimPrefix(s.String(), "DISK_STATE_"))
}

// backupTimeout is long because the server reads all its data for a backup.
const backupTimeout = time.Hour

func (a serverCommands) backup() *cobra.Command {
	c := &cobra.Command{
		Use:   "backup [NAME]",
		Short: "Make the server write a backup into its data folder",
		Long: `Makes the server write a checkpoint of all shards into its data folder, in backups/NAME; the default name is the
current time. The server continues to serve. Copy the folder to another disk: a backup on the same disk is lost
with it. 'queued restore' makes a new data folder from a backup.`,
		Example: `  queued backup
  queued backup before-upgrade --output json | jq -r .path`,
		Args: atMostOneArg("name"),
	}
	conn := a.connect(c, true, false)
	conn.timeout = backupTimeout
	c.Flags().Lookup("timeout").DefValue = durationValue{&conn.timeout}.String()
	c.RunE = func(c *cobra.Command, args []string) error {
		request := &adminpb.BackupRequest{}
		if len(args) == 1 {
			request.Name = args[0]
		}
		return conn.adminService(c, func(ctx context.Context, api adminpb.AdminServiceClient) error {
			out, err := showing(a.app, "the server writes the backup", func() (*adminpb.BackupResponse, error) { return api.Backup(ctx, request) })
			if err != nil {
				return err
			}
			return a.print(document(out), func(t *table) {
				t.row("path", out.GetPath())
				t.row("bytes", out.GetBytes())
			})
		})
	}
	return c
}
