package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/storage"
)

// endsGone waits until a server has ended because its data is gone, and returns its log line.
func (p *process) endsGone() string {
	p.Helper()
	select {
	case <-p.exited:
	case <-time.After(patience):
		require.Fail(p, "it still runs", p.log.String())
	}
	require.Equal(p, exitUsage, p.command.ProcessState.ExitCode(), "a service manager must not start it in an empty folder: %s", p.log)
	var said []string
	for line := range strings.Lines(p.log.String()) {
		if strings.Contains(line, "level=ERROR") {
			said = append(said, line)
		}
	}
	require.Len(p, said, 1, "%s", p.log)
	assert.Contains(p, said[0], "the store failed, stopping at once")
	return said[0]
}

// enqueueOne enqueues a task, and reports whether it was acknowledged.
func enqueueOne(ctx context.Context, c *client.Client) bool {
	out, err := c.API().Enqueue(ctx, &queuepb.EnqueueRequest{Tasks: []*queuepb.NewTask{{Queue: "q"}}})
	return err == nil && out.GetResults()[0].GetError() == nil
}

// TestAServerEndsWhenItsDataIsGone removes the data folder or a part of it under a running server,
// which ends and logs the loss and the remedy.
func TestAServerEndsWhenItsDataIsGone(t *testing.T) {
	t.Parallel()
	newest := func(t *testing.T, pattern string) string {
		t.Helper()
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, found)
		return slices.Max(found)
	}
	for name, c := range map[string]struct {
		durability string
		mounted    bool // the data folder is the root of a file system
		take       func(t *testing.T, data string)
		says       string
		unlinked   bool // the log is removed: no task may be acknowledged
	}{
		"removed": {durability: "sync", unlinked: true, take: func(t *testing.T, data string) { require.NoError(t, os.RemoveAll(data)) }, says: "removed"},
		"removed, interval": {
			durability: "interval", take: func(t *testing.T, data string) { require.NoError(t, os.RemoveAll(data)) }, says: "removed",
		},
		"removed, none": {durability: "none", take: func(t *testing.T, data string) { require.NoError(t, os.RemoveAll(data)) }, says: "removed"},
		"renamed": {
			durability: "sync", take: func(t *testing.T, data string) { require.NoError(t, os.Rename(data, data+"2")) },
			says: "was removed, renamed or unmounted while the server ran: mount its file system again or move the folder back",
		},
		"unmounted": {
			durability: "sync", mounted: true, take: func(t *testing.T, data string) { require.NoError(t, unix.Unmount(data, unix.MNT_DETACH)) },
			says: "is another folder than the server opened",
		},
		"the log": {
			durability: "sync", unlinked: true, take: func(t *testing.T, data string) {
				require.NoError(t, os.Remove(newest(t, filepath.Join(storage.ShardFolder(data, 0), "*.log"))))
			}, says: ".log was removed while the server ran",
		},
		"the manifest": {
			durability: "sync", take: func(t *testing.T, data string) {
				require.NoError(t, os.Remove(newest(t, filepath.Join(storage.ShardFolder(data, 0), "MANIFEST-*"))))
			}, says: "was removed while the server ran: restore a backup",
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
			defer cancel()
			data := filepath.Join(t.TempDir(), "data")
			require.NoError(t, os.Mkdir(data, 0o700))
			if c.mounted {
				err := unix.Mount("tmpfs", data, "tmpfs", 0, "size=1g")
				if err != nil {
					t.Skipf("mounting a tmpfs is not permitted here (%v): run it as root, or with unshare -rm", err)
				}
			}
			p := start(t, "--data", data, "--durability", c.durability)
			cl := p.dialOnce()
			defer cl.Close() //nolint:errcheck // its server has ended
			require.True(t, enqueueOne(ctx, cl))
			require.Equal(t, "ok\n", p.get("/readyz"))
			c.take(t, data)
			for acked := enqueueOne(ctx, cl); acked; acked = enqueueOne(ctx, cl) {
				require.False(t, c.unlinked, "the acknowledged task is lost")
			}
			said := p.endsGone()
			assert.Contains(t, said, data)
			assert.Contains(t, said, c.says)
			assert.Regexp(t, "start the server again|restore a backup", said)
		})
	}
}

// TestANodeWhoseDataIsGoneDoesNotLead removes the data folder of the leader of a cluster under
// load, and then that of a follower. Each of them ends, the cluster continues, and no acknowledged
// task is lost. The node rejoins with an empty data folder.
func TestANodeWhoseDataIsGoneDoesNotLead(t *testing.T) {
	t.Parallel()
	c := newCluster(t, "--durability", "sync")
	for _, id := range clusterNodes {
		c.remembered(id)
	}
	l := c.load()
	l.goOn(50)
	for _, leads := range []bool{true, false} {
		id := c.leader()
		if !leads {
			id = c.follower()
		}
		_ = os.RemoveAll(c.nodes[id].data) // the node may create another file at the same time
		said := c.nodes[id].endsGone()
		assert.Contains(t, said, c.nodes[id].data)
		c.gone(id)
		require.NotEqual(t, id, c.leader())
		l.goOn(50)
		c.wipe(id)
		c.start(id)
		c.caughtUp(id)
		c.voter(id)
	}
	l.goOn(50)
	l.end()
}
