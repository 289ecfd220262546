package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/engine/storage/backup"
)

func (a serverCommands) restore() *cobra.Command {
	var from, data string
	c := &cobra.Command{
		Use:   "restore --from BACKUP --data DIR",
		Short: "Make a data folder from a backup, after checking it",
		Long: `Makes a new data folder from a backup, without a server. It compares every file's checksum with the manifest, reads
every store of the copy to the end, compares its counters with its tasks, and names what is damaged. It never
writes to the backup.

The data folder must not exist, or must be empty. 'queued serve' refuses the data folder of an interrupted
restore. The access tokens of the backup are valid again; the admin.token file is not part of a backup: start the
server once with --new-admin-token if no operator has a token.`,
		Example: `  queued restore --from /mnt/backups/2030-01-31 --data /var/lib/queued-new
  queued serve --data /var/lib/queued-new`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if from == "" || data == "" {
				return usageError{errors.New("--from and --data must name folders")}
			}
			if _, err := os.Stat(from); err != nil {
				return usageError{fmt.Errorf("--from: %w", err)}
			}
			var at backup.Progress
			shown := a.during(func() string { return "restoring: " + at.String() })
			r, err := backup.Restore(c.Context(), from, data, &at)
			shown()
			if err != nil {
				return err
			}
			m := &r.Manifest
			return a.print(members{
				{"from", from},
				{"data", data},
				{"created_at_ms", m.CreatedAtMs},
				{"version", m.Version},
				{"shards", m.Shards},
				{"files", len(m.Files)},
				{"bytes", m.Bytes()},
				{"queues", r.Holding.Queues},
				{"tasks", r.Holding.Tasks},
			}, func(t *table) {
				t.row("data folder", data)
				t.row("backup of", when(m.CreatedAtMs))
				t.row("shards", m.Shards)
				t.row("bytes", m.Bytes())
				t.row("queues", r.Holding.Queues)
				t.row("tasks", r.Holding.Tasks)
			})
		},
	}
	c.Flags().StringVar(&from, "from", "", "folder of the backup, which has a "+backup.ManifestName)
	c.Flags().StringVar(&data, "data", "", "data folder to make")
	needs(c, "from", "data")
	return c
}
