package node_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/node"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/storage"
)

func shardsConfig(dir string, shards int) node.Config {
	return node.Config{DataDir: dir, Listen: []string{"127.0.0.1:0"}, Admin: "127.0.0.1:0", Durability: storage.None, DiskLow: storage.SpaceMark{Set: true}, Shards: shards, Metrics: node.Metrics{Tenants: true}}
}

// run opens a node, calls use, and shuts the node down.
func run(ctx context.Context, t *testing.T, c node.Config, use func(*node.Node, *client.Client)) {
	t.Helper()
	n, err := node.Open(c)
	require.NoError(t, err)
	cl, err := client.Dial(n.Addresses()[0])
	require.NoError(t, err)
	use(n, cl)
	require.NoError(t, cl.Close())
	require.NoError(t, n.Shutdown(ctx))
}

// Tasks of all shards survive a restart.
func TestThreeShardsGoOnWhereTheyStopped(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	dir := t.TempDir()
	var ids []string
	run(ctx, t, shardsConfig(dir, 3), func(_ *node.Node, c *client.Client) {
		shards := map[uint16]bool{}
		for i := range 9 {
			text := enqueue(ctx, t, c, task("q", fmt.Sprint(i)))[0]
			id, err := queue.ParseID(text)
			require.NoError(t, err)
			shards[id.Shard] = true
			ids = append(ids, text)
		}
		assert.Len(t, shards, 3)
		assert.Len(t, claim(ctx, t, c, "q", 2), 2)
	})
	for i := range 3 {
		assert.DirExists(t, filepath.Join(dir, "shards", fmt.Sprintf("%04d", i)))
	}
	run(ctx, t, shardsConfig(dir, 3), func(n *node.Node, c *client.Client) {
		for i, id := range ids {
			out, err := c.API().GetTask(ctx, &queuepb.GetTaskRequest{Id: id})
			require.NoError(t, err)
			assert.Equal(t, fmt.Sprint(i), string(out.GetTask().GetPayload()))
		}
		left := 7
		for left > 0 {
			ds := claim(ctx, t, c, "q", 100)
			require.NotEmpty(t, ds)
			left -= len(ds)
		}
		assert.Zero(t, left)
		body := get(t, n, "/metrics")
		for _, line := range []string{`prony_queue_tasks{queue="q",state="leased",tenant="default"} 9`, `prony_storage_sets_total{shard="2"} `, `prony_commit_seconds_count{shard="1"} `} {
			assert.Contains(t, body, "\n"+line)
		}
		assert.Contains(t, get(t, n, "/audit"), `"enqueued":9,"completed":0,"ready":0,"leased":9,"delayed":0,"dead":0,"stored":9`)
	})
}

func get(t *testing.T, n *node.Node, path string) string {
	t.Helper()
	defer http.DefaultClient.CloseIdleConnections()
	answer, err := http.Get("http://" + n.Admin() + path)
	require.NoError(t, err)
	defer answer.Body.Close() //nolint:errcheck // the test's own
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return string(body)
}

func TestTheNumberOfShardsIsSettledOnce(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	dir := t.TempDir()
	// The default is one shard.
	run(ctx, t, shardsConfig(dir, 0), func(*node.Node, *client.Client) {})
	run(ctx, t, shardsConfig(dir, 1), func(*node.Node, *client.Client) {})
	text := refused(t, shardsConfig(dir, 2))
	assert.Contains(t, text, dir+" is 1, not 2: start with --shards 1")
	assert.NoDirExists(t, filepath.Join(dir, "shards", "0001"))
	for _, n := range []int{-1, 33} {
		assert.Contains(t, refused(t, shardsConfig(t.TempDir(), n)), fmt.Sprintf("shards %d is not 1 to 32", n))
	}
}

func TestABadLayoutIsRefused(t *testing.T) {
	for content, want := range map[string]string{
		`{"format":2,"shards":1}`:     "format 2, this server reads format 1: use a newer server",
		`{"format":0,"shards":1}`:     "which no server wrote",
		`{"format":1,"shards":0}`:     "which no server wrote",
		`{"format":1,"shards":99999}`: "which no server wrote",
		`{`:                           "restore it",
		``:                            "restore it",
	} {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, "node.json"), []byte(content), 0o600))
		text := refused(t, shardsConfig(dir, 1))
		assert.Contains(t, text, want)
		assert.Contains(t, text, filepath.Join(dir, "node.json"))
	}
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "node.json"), 0o700))
	assert.Contains(t, refused(t, shardsConfig(dir, 1)), "read the data folder's layout")
}

func TestWhatIsNoDataFolderIsRefused(t *testing.T) {
	for name, want := range map[string]string{"restoring": "holds a restore that did not finish", "manifest.json": "is a backup"} {
		dir := t.TempDir()
		require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o700))
		assert.Contains(t, refused(t, shardsConfig(dir, 1)), want)
		assert.NoDirExists(t, filepath.Join(dir, "shards"))
	}
}

// A start that was interrupted before the layout was written can be repeated. One shard that cannot
// be opened fails the node, and the other shards are closed.
func TestAHalfMadeDataFolder(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "node.json.tmp"), []byte("{"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "shards"), 0o700))
	blocker := filepath.Join(dir, "shards", "0002")
	require.NoError(t, os.WriteFile(blocker, nil, 0o600))
	assert.Contains(t, refused(t, shardsConfig(dir, 3)), blocker)
	require.NoError(t, os.Remove(blocker))
	start(t, func(c *node.Config) { c.DataDir, c.Shards = dir, 3 })
}

// A failed shard stops the node, and the error names the shard.
func TestAFailedShardFailsTheNode(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	dir := t.TempDir()
	run(ctx, t, shardsConfig(dir, 2), func(_ *node.Node, c *client.Client) {
		enqueue(ctx, t, c, task("q", "0"))
		enqueue(ctx, t, c, task("q", "1"))
	})
	require.NoError(t, os.Remove(filepath.Join(dir, "shards", "0001", "SEAL")), "the seal would reveal the changes made here")
	db, err := pebble.Open(filepath.Join(dir, "shards", "0001"), &pebble.Options{Logger: quiet{t}})
	require.NoError(t, err)
	require.NoError(t, db.Set([]byte{'t', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, []byte{99}, pebble.Sync))
	require.NoError(t, db.Close())
	n, err := node.Open(shardsConfig(dir, 2))
	require.NoError(t, err)
	c, err := client.Dial(n.Addresses()[0])
	require.NoError(t, err)
	for range 2 { // each shard is asked at least once
		_, err = c.API().Claim(ctx, &queuepb.ClaimRequest{Queues: []string{"q"}})
	}
	require.Error(t, err)
	select {
	case err := <-n.Failed():
		require.ErrorContains(t, err, "shard 1: ")
		require.ErrorContains(t, err, "record has format 99")
	case <-ctx.Done():
		t.Fatal("the node continues")
	}
	require.NoError(t, c.Close())
	require.NoError(t, n.Shutdown(ctx))
}

// quiet passes Pebble's log to the test's log.
type quiet struct{ *testing.T }

func (q quiet) Infof(format string, args ...any)  { q.Logf(format, args...) }
func (q quiet) Errorf(format string, args ...any) { q.T.Errorf(format, args...) }
func (q quiet) Fatalf(format string, args ...any) { q.T.Errorf(format, args...) }
