package node

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/shard"
	"github.com/pronybench/prony/engine/storage"
	"github.com/pronybench/prony/engine/storage/backup"
)

// post sends a body to the admin listener's REST API and decodes the answer.
func (a *adminTest) post(path, body string) (status int, out map[string]any) {
	a.Helper()
	in, err := http.NewRequestWithContext(a.ctx, http.MethodPost, "http://"+a.node.Admin()+path, strings.NewReader(body))
	require.NoError(a, err)
	in.Header.Set("Content-Type", "application/json")
	answer, err := a.http.Do(in)
	require.NoError(a, err)
	defer answer.Body.Close() //nolint:errcheck // the test's own
	text, err := io.ReadAll(answer.Body)
	require.NoError(a, err)
	require.NoError(a, json.Unmarshal(text, &out), "%s", text)
	return answer.StatusCode, out
}

// A node's own admin service is available over REST.
func TestANodeIsAdministered(t *testing.T) {
	a := newAdminTest(t)
	a.someTasks()
	status, body := a.ask(http.MethodGet, "/v1/queues")
	require.Equal(t, http.StatusOK, status, body)
	var list struct {
		Queues []struct{ Tenant, Queue, Ready, Leased, Delayed, Dead string }
	}
	require.NoError(t, json.Unmarshal([]byte(body), &list))
	require.Len(t, list.Queues, 1, body)
	q := list.Queues[0]
	assert.Equal(t, []string{"t0", "q", "2", "1", "1", "1"}, []string{q.Tenant, q.Queue, q.Ready, q.Leased, q.Delayed, q.Dead})
	status, _ = a.post("/v1/queues:pause", `{"tenant":"t0","queue":"q"}`)
	assert.Equal(t, http.StatusOK, status)
	status, body = a.ask(http.MethodGet, "/v1/queues:get?tenant=t0&queue=q")
	assert.Equal(t, http.StatusOK, status)
	assert.Contains(t, strings.ReplaceAll(body, " ", ""), `"paused":true`)
	status, out := a.post("/v1/backup", `{"name":"mine"}`)
	require.Equal(t, http.StatusOK, status, out)
	path, _ := out["path"].(string)
	assert.Equal(t, "mine", filepath.Base(path))
	assert.True(t, filepath.IsAbs(path))
	_, err := backup.Verify(a.ctx, path)
	require.NoError(t, err)
	status, body = a.ask(http.MethodGet, "/v1/status")
	assert.Equal(t, http.StatusOK, status)
	assert.Contains(t, strings.ReplaceAll(body, " ", ""), `"ready":true`)
}

// A failed node reports it, and a closed node makes no backup.
func TestTheHostOfAStoppedNode(t *testing.T) {
	a := newAdminTest(t)
	h := newHost(a.node, Config{DataDir: t.TempDir(), Durability: storage.None})
	assert.Empty(t, h.Status().NotReady)
	a.node.fail(assert.AnError)
	assert.Contains(t, h.Status().NotReady, assert.AnError.Error())
	h.backup <- struct{}{} // another backup is in progress
	over, cancel := context.WithCancel(a.ctx)
	cancel()
	_, _, err := h.Backup(over, "late")
	require.ErrorIs(t, err, context.Canceled)
	<-h.backup
	require.NoError(t, a.node.Shutdown(context.Background()))
	_, _, err = h.Backup(a.ctx, "late")
	require.ErrorIs(t, err, shard.ErrClosed)
	assert.NoDirExists(t, filepath.Join(h.config.DataDir, backup.Folder, "late"))
}

// A start removes the unfinished backup of a previous server.
func TestAnUnfinishedBackupIsRemovedAtTheStart(t *testing.T) {
	data := t.TempDir()
	unfinished := filepath.Join(data, backup.Folder, "b.partial", storage.ShardsFolder, "0000")
	whole := filepath.Join(data, backup.Folder, "a")
	for _, dir := range []string{unfinished, whole} {
		require.NoError(t, os.MkdirAll(dir, 0o700))
	}
	require.NoError(t, os.WriteFile(filepath.Join(unfinished, "000004.sst"), []byte("x"), 0o600))
	n, err := Open(Config{DataDir: data, Listen: []string{"127.0.0.1:0"}, Durability: storage.None})
	require.NoError(t, err)
	entries, err := os.ReadDir(filepath.Join(data, backup.Folder))
	require.NoError(t, err)
	require.Len(t, entries, 1)
	assert.Equal(t, "a", entries[0].Name())
	require.NoError(t, n.Shutdown(t.Context()))
}
