package node_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/internal/waittest"
	"github.com/pronybench/prony/engine/node"
	"github.com/pronybench/prony/engine/storage"
)

// refused opens a node that must not open, and returns the error.
func refused(t *testing.T, c node.Config) string {
	t.Helper()
	n, err := node.Open(c)
	if err == nil {
		require.NoError(t, n.Shutdown(context.Background()))
	}
	require.Error(t, err)
	return err.Error()
}

func TestABadConfigListsAllItsProblems(t *testing.T) {
	text := refused(t, node.Config{Listen: []string{"nonsense", "unix:", "0.0.0.0:1"}, HTTP: "[::]:80", Admin: "example.com:80", SyncInterval: -1, Durability: "maybe"})
	for _, want := range []string{
		"data folder is empty", `listen address "nonsense"`, `listen address "unix:" has no path`, `"0.0.0.0:1" is not a loopback address`,
		`http address "[::]:80" is not a loopback address`, `admin address "example.com:80" is not a loopback address`, "sync interval", `durability "maybe"`,
	} {
		assert.Contains(t, text, want)
	}
	text = refused(t, node.Config{DataDir: t.TempDir(), Durability: storage.None})
	assert.Contains(t, text, "listen addresses are missing")
}

func TestOnlyLoopbackAddressesAreListenedOn(t *testing.T) {
	for _, address := range []string{":0", "0.0.0.0:0", "[::]:0", "192.0.2.1:0", "example.com:0"} {
		dir := filepath.Join(t.TempDir(), "data")
		text := refused(t, node.Config{DataDir: dir, Listen: []string{address}, Durability: storage.None})
		assert.Contains(t, text, "listen on 127.0.0.1, [::1] or localhost", address)
		assert.NoDirExists(t, dir)
	}
	n := start(t, func(c *node.Config) { c.Listen = []string{"localhost:0"} })
	assert.Len(t, n.Addresses(), 1)
}

func TestATakenPortLeavesNothingBehind(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close() //nolint:errcheck // the test's own
	dir, socket := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "s")
	for _, c := range []node.Config{
		{Listen: []string{"unix:" + socket, taken.Addr().String()}},
		{Listen: []string{"unix:" + socket}, HTTP: taken.Addr().String()},
		{Listen: []string{"unix:" + socket}, HTTP: "127.0.0.1:0", Admin: taken.Addr().String()},
	} {
		c.DataDir, c.Durability = dir, storage.None
		text := refused(t, c)
		assert.Contains(t, text, taken.Addr().String())
		assert.Contains(t, text, "address already in use")
		assert.Contains(t, text, "choose another address")
		assert.NoDirExists(t, dir)
		assert.NoFileExists(t, socket)
	}
}

func TestALockedDataFolderIsRefused(t *testing.T) {
	dir := t.TempDir()
	start(t, func(c *node.Config) { c.DataDir = dir })
	addresses := make([]string, 3)
	var text string
	for range 10 { // another process may take a port between the probe and the node
		for i := range addresses {
			probe, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			addresses[i] = probe.Addr().String()
			require.NoError(t, probe.Close())
		}
		text = refused(t, node.Config{DataDir: dir, Listen: addresses[:1], HTTP: addresses[1], Admin: addresses[2], Durability: storage.None})
		if !strings.Contains(text, "address already in use") {
			break
		}
	}
	assert.Contains(t, text, "lock")
	assert.Contains(t, text, dir)
	for _, address := range addresses {
		_, err := net.Dial("tcp", address)
		require.Error(t, err, "the listeners are closed again")
	}
}

func TestADataFolderThatIsAFileIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	text := refused(t, node.Config{DataDir: file, Listen: []string{"127.0.0.1:0"}, Durability: storage.None})
	assert.Contains(t, text, file)
}

func TestUnixSockets(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "s")
	try := func() (*node.Node, error) {
		return node.Open(node.Config{DataDir: t.TempDir(), Listen: []string{"unix:" + path}, Durability: storage.None})
	}
	// A socket that a killed server left is replaced.
	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	require.NoError(t, err)
	stale.SetUnlinkOnClose(false)
	require.NoError(t, stale.Close())
	require.FileExists(t, path)
	n, err := try()
	require.NoError(t, err)
	assert.Equal(t, []string{"unix:" + path}, n.Addresses())
	assert.Empty(t, n.Admin())
	assert.Empty(t, n.HTTP())
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm(), "only the server's user may connect")

	// A socket where a server answers is not removed.
	_, err = try()
	require.ErrorContains(t, err, "a server answers there")
	require.FileExists(t, path)
	require.NoError(t, n.Shutdown(context.Background()))
	require.NoFileExists(t, path)

	// A socket that does not answer because its backlog is full is not removed either.
	busy, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: path, Net: "unixpacket"})
	require.NoError(t, err)
	_, err = try()
	require.ErrorContains(t, err, "may be in use")
	require.FileExists(t, path)
	require.NoError(t, busy.Close())

	require.NoError(t, os.WriteFile(path, []byte("mine"), 0o600))
	_, err = try()
	require.ErrorContains(t, err, "is not a socket")
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "mine", string(content))

	path = filepath.Join(folder, "missing", "s")
	_, err = try()
	require.Error(t, err)
}

func TestSeveralListenersServeTheSameQueues(t *testing.T) {
	socket := "unix:" + filepath.Join(t.TempDir(), "s")
	n := start(t, func(c *node.Config) { c.Listen = []string{"127.0.0.1:0", socket, "127.0.0.1:0"} })
	require.Len(t, n.Addresses(), 3)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, address := range n.Addresses() {
		enqueue(ctx, t, dial(t, address), task("q", address))
	}
	assert.Len(t, claim(ctx, t, dial(t, n.Addresses()[1]), "q", 10), 3)
}

const patience = waittest.Most
