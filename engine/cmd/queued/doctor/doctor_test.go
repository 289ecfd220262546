package doctor

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/pronybench/prony/engine/config"
	"github.com/pronybench/prony/engine/internal/build"
	"github.com/pronybench/prony/engine/storage"
	"github.com/pronybench/prony/engine/storage/backup"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var now = time.Date(2030, 1, 31, 12, 0, 0, 0, time.UTC)

// healthy returns a host without findings.
func healthy() Host {
	return Host{
		Now:          func() time.Time { return now },
		Synchronised: func() (bool, error) { return true, nil },
		Space:        func(string) (uint64, uint64, error) { return 500 << 30, 1 << 40, nil },
		FileSystem:   func(string) (int64, error) { return unix.EXT4_SUPER_MAGIC, nil },
		FileLimit:    func() (uint64, error) { return 1 << 20, nil },
		MemoryLimit:  func() (uint64, error) { return 0, nil },
		CPUQuota:     func() (float64, error) { return 0, nil },
		Procs:        func() int { return 2 },
		UID:          os.Geteuid,
	}
}

// input returns a startable server with a new data folder.
func input(t *testing.T) Input {
	t.Helper()
	c := config.Default()
	c.Node.DataDir = filepath.Join(t.TempDir(), "data")
	require.NoError(t, os.Mkdir(c.Node.DataDir, 0o700))
	c.Node.Listen = []string{"127.0.0.1:0"}
	c.Node.HTTP, c.Node.Admin = "127.0.0.1:0", "127.0.0.1:0"
	return Input{Config: c, Program: Program{Version: "v1", Build: build.Info{Commit: "aaaa"}}, Host: healthy()}
}

// find returns the check's only finding that is not fit, or else its first finding.
func find(t *testing.T, all []Finding, check string) Finding {
	t.Helper()
	var found []Finding
	for _, f := range all {
		if f.Check == check {
			found = append(found, f)
		}
	}
	require.NotEmpty(t, found, check)
	for _, f := range found {
		if f.Level != Fit {
			return f
		}
	}
	return found[0]
}

func TestAHealthyHost(t *testing.T) {
	in := input(t)
	checks := map[string]bool{}
	for _, f := range Run(t.Context(), in) {
		assert.True(t, f.Level == Fit || f.Check == "fsync", "%v", f)
		assert.NotEmpty(t, f.Message)
		checks[f.Check] = true
	}
	assert.Len(t, checks, 16, "%v", checks)
	entries, err := os.ReadDir(in.Config.Node.DataDir)
	require.NoError(t, err)
	assert.Empty(t, entries, "the checks leave nothing behind")
}

// Each host finding is provoked.
func TestHostFindings(t *testing.T) {
	failed := errors.New("can't tell")
	for name, c := range map[string]struct {
		spoil func(h *Host)
		check string
		level Level
		says  string
	}{
		"clock of 1970": {func(h *Host) { h.Now = func() time.Time { return time.Unix(0, 0) } }, "clock", Unfit, "it shows 1970-01-01"},
		"free clock":    {func(h *Host) { h.Synchronised = func() (bool, error) { return false, nil } }, "clock", Warning, "nothing synchronizes it"},
		"unknown clock": {func(h *Host) { h.Synchronised = func() (bool, error) { return false, failed } }, "clock", Unknown, "can't tell"},
		"too many threads": {func(h *Host) {
			h.Procs = func() int { return 8 }
			h.CPUQuota = func() (float64, error) { return 2.5, nil }
		}, "processors", Warning, "GOMAXPROCS is 8, but the CPU quota is 2.5"},
		"rounded quota": {func(h *Host) {
			h.Procs = func() int { return 3 }
			h.CPUQuota = func() (float64, error) { return 2.5, nil }
		}, "processors", Fit, "3, with a quota of 2.5"},
		"small quota":       {func(h *Host) { h.CPUQuota = func() (float64, error) { return 0.5, nil } }, "processors", Fit, "2, with a quota of 0.5"},
		"unknown quota":     {func(h *Host) { h.CPUQuota = func() (float64, error) { return 0, failed } }, "processors", Unknown, "can't tell"},
		"few files":         {func(h *Host) { h.FileLimit = func() (uint64, error) { return 1024, nil } }, "open files", Warning, "the limit is 1024; stores and connections may need 2000"},
		"hardly any files":  {func(h *Host) { h.FileLimit = func() (uint64, error) { return 100, nil } }, "open files", Unfit, "the limit is 100"},
		"unknown files":     {func(h *Host) { h.FileLimit = func() (uint64, error) { return 0, failed } }, "open files", Unknown, "can't tell"},
		"little memory":     {func(h *Host) { h.MemoryLimit = func() (uint64, error) { return 128 << 20, nil } }, "memory", Warning, "limit is 128MiB; under load a server may need 512MiB"},
		"enough memory":     {func(h *Host) { h.MemoryLimit = func() (uint64, error) { return 20 << 30, nil } }, "memory", Fit, "limit is 20GiB"},
		"unknown memory":    {func(h *Host) { h.MemoryLimit = func() (uint64, error) { return 0, failed } }, "memory", Unknown, "can't tell"},
		"no space":          {func(h *Host) { h.Space = func(string) (uint64, uint64, error) { return 100 << 20, 1 << 40, nil } }, "free space", Unfit, "100MiB of 1TiB"},
		"little space":      {func(h *Host) { h.Space = func(string) (uint64, uint64, error) { return 50 << 30, 1 << 40, nil } }, "free space", Warning, "50GiB"},
		"space below low":   {func(h *Host) { h.Space = func(string) (uint64, uint64, error) { return 3 << 30, 1 << 40, nil } }, "free space", Warning, "below the low mark of 4GiB (--disk-low), a server refuses new tasks"},
		"unknown space":     {func(h *Host) { h.Space = func(string) (uint64, uint64, error) { return 0, 0, failed } }, "free space", Unknown, "can't tell"},
		"memory for a disk": {func(h *Host) { h.FileSystem = func(string) (int64, error) { return unix.TMPFS_MAGIC, nil } }, "file system", Unfit, "tmpfs: its content is lost on a power loss"},
		"remote disk":       {func(h *Host) { h.FileSystem = func(string) (int64, error) { return unix.NFS_SUPER_MAGIC, nil } }, "file system", Warning, "NFS"},
		"container's layer": {func(h *Host) { h.FileSystem = func(string) (int64, error) { return unix.OVERLAYFS_SUPER_MAGIC, nil } }, "file system", Warning, "removed with the container"},
		"unknown disk":      {func(h *Host) { h.FileSystem = func(string) (int64, error) { return 0x1234, nil } }, "file system", Warning, "unknown, of type 0x1234"},
		"unreadable disk":   {func(h *Host) { h.FileSystem = func(string) (int64, error) { return 0, failed } }, "file system", Unknown, "can't tell"},
	} {
		in := input(t)
		c.spoil(&in.Host)
		f := find(t, Run(t.Context(), in), c.check)
		assert.Equal(t, c.level, f.Level, "%s: %v", name, f)
		assert.Contains(t, f.Message, c.says, name)
		if f.Level == Unfit {
			assert.NotEmpty(t, f.Remedy, name)
		}
	}
	in := input(t)
	in.Host.FileSystem = func(string) (int64, error) { return unix.TMPFS_MAGIC, nil }
	in.Config.Node.Durability = storage.None
	assert.Equal(t, Warning, find(t, Run(t.Context(), in), "file system").Level, "durability none accepts a volatile file system")
}

func TestFsyncTimes(t *testing.T) {
	times := func(median time.Duration) []time.Duration { return []time.Duration{median, 2 * median, median / 2} }
	for _, c := range []struct {
		median     time.Duration
		durability storage.Durability
		level      Level
	}{
		{200 * time.Microsecond, storage.Sync, Fit},
		{30 * time.Millisecond, storage.Sync, Warning},
		{30 * time.Millisecond, storage.Interval, Fit},
		{time.Microsecond, storage.Sync, Warning},
	} {
		var r report
		r.judgeFsync("fsync", times(c.median), c.durability)
		assert.Equal(t, c.level, r[0].Level, "%v", r)
		assert.Contains(t, r[0].Message, "of 3")
	}
	measured, err := measureFsync(t.Context(), t.TempDir())
	require.NoError(t, err)
	assert.NotEmpty(t, measured)
	assert.LessOrEqual(t, len(measured), fsyncsMax)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	measured, err = measureFsync(ctx, t.TempDir())
	require.NoError(t, err)
	assert.Empty(t, measured)
	var r report
	r.fsync(t.Context(), filepath.Join(t.TempDir(), "missing"), storage.Sync)
	assert.Equal(t, Unknown, r[0].Level)
}

// Each finding about the configuration and the data folder is provoked.
func TestFolderFindings(t *testing.T) {
	unreadable := func(in *Input) {
		in.Config.Node.DataDir = filepath.Join(in.Config.Node.DataDir, "file")
		require.NoError(t, os.WriteFile(in.Config.Node.DataDir, nil, 0o600))
	}
	for name, c := range map[string]struct {
		spoil func(in *Input)
		check string
		level Level
		says  string
	}{
		"wrong configuration": {func(in *Input) {
			in.Config, in.Problems = nil, &config.Problems{List: []config.Problem{{At: "--shards", Message: `"0" is not from 1 to 32`}}}
		}, "configuration", Unfit, `--shards: "0" is not`},
		"unknown data folder": {func(in *Input) { in.Config, in.Problems = nil, &config.Problems{} }, "data folder", Warning, "not checked"},
		"misspelt variable": {func(in *Input) {
			in.Warnings = []config.Problem{{At: "QUEUED_SHRADS", Message: "there is no such environment variable"}}
		}, "configuration", Warning, "QUEUED_SHRADS"},
		"a file":      {unreadable, "data folder", Unfit, "is not a folder"},
		"in a file":   {func(in *Input) { unreadable(in); in.Config.Node.DataDir += "/data" }, "data folder", Unfit, "not a directory"},
		"not there":   {func(in *Input) { in.Config.Node.DataDir += "/a/b" }, "data folder", Fit, "the server creates it"},
		"open to all": {func(in *Input) { require.NoError(t, os.Chmod(in.Config.Node.DataDir, 0o777)) }, "data folder", Warning, "can be written by others: its mode is 777"},
		"other owner": {func(in *Input) { in.Host.UID = func() int { return os.Geteuid() + 1 } }, "data folder", Warning, "belongs to user"},
		"a backup": {func(in *Input) {
			require.NoError(t, os.WriteFile(filepath.Join(in.Config.Node.DataDir, backup.ManifestName), nil, 0o600))
		}, "data folder", Unfit, "is a backup"},
		"unfinished restore": {func(in *Input) {
			require.NoError(t, os.Mkdir(filepath.Join(in.Config.Node.DataDir, "restoring"), 0o700))
		}, "data folder", Unfit, "holds a restore that did not finish"},
		"token for all": {func(in *Input) {
			path := filepath.Join(in.Config.Node.DataDir, tokenFile)
			require.NoError(t, os.WriteFile(path, []byte("x"), 0o600))
			require.NoError(t, os.Chmod(path, 0o640))
		}, "admin token", Unfit, "can be read by others: its mode is 640"},
		"token": {func(in *Input) {
			require.NoError(t, os.WriteFile(filepath.Join(in.Config.Node.DataDir, tokenFile), []byte("x"), 0o600))
		}, "admin token", Fit, "is only this user's"},
		"token lost": {func(in *Input) { makeStore(t, in, 0) }, "admin token", Warning, "does not exist"},
		"no tokens":  {func(in *Input) { in.Config.Node.Auth = false }, "admin token", Warning, "everybody who can connect is an operator"},
		"other number of shards": {func(in *Input) {
			makeStore(t, in, 0)
			makeStore(t, in, 1)
		}, "shards", Unfit, "the data folder has 2, but the configuration has 1"},
		"shard missing": {func(in *Input) {
			makeStore(t, in, 0)
			require.NoError(t, storage.WriteLayout(in.Config.Node.DataDir, 2))
		}, "shards", Unfit, "records 2 shards, but has 1"},
		"layout damaged": {func(in *Input) {
			makeStore(t, in, 0)
			require.NoError(t, os.WriteFile(filepath.Join(in.Config.Node.DataDir, storage.LayoutFile), []byte("{"), 0o600))
		}, "shards", Unfit, "node.json: unexpected end"},
		"store damaged": {func(in *Input) {
			dir := makeStore(t, in, 0)
			damaged, err := filepath.Glob(filepath.Join(dir, "MANIFEST-*"))
			require.NoError(t, err)
			require.NotEmpty(t, damaged)
			require.NoError(t, os.WriteFile(damaged[len(damaged)-1], []byte("garbage"), 0o600))
		}, "stores", Unfit, "open the store in"},
		"store damaged behind a link": {func(in *Input) {
			dir := makeStore(t, in, 0)
			damaged, err := filepath.Glob(filepath.Join(dir, "MANIFEST-*"))
			require.NoError(t, err)
			require.NotEmpty(t, damaged)
			require.NoError(t, os.WriteFile(damaged[len(damaged)-1], []byte("garbage"), 0o600))
			elsewhere := filepath.Join(t.TempDir(), "0000")
			require.NoError(t, os.Rename(dir, elsewhere))
			require.NoError(t, os.Symlink(elsewhere, dir))
		}, "stores", Unfit, "open the store in"},
		"store held": {func(in *Input) {
			s, err := storage.Open(makeStore(t, in, 0), storage.Options{Durability: storage.Sync})
			require.NoError(t, err)
			t.Cleanup(func() { assert.NoError(t, s.Close()) })
		}, "stores", Fit, "open in a running server"},
	} {
		in := input(t)
		c.spoil(&in)
		f := find(t, Run(t.Context(), in), c.check)
		assert.Equal(t, c.level, f.Level, "%s: %v", name, f)
		assert.Contains(t, f.Message, c.says, name)
	}
}

// makeStore creates an empty store of a shard and returns its folder.
func makeStore(t *testing.T, in *Input, shard int) string {
	t.Helper()
	dir := storage.ShardFolder(in.Config.Node.DataDir, shard)
	require.NoError(t, os.MkdirAll(dir, 0o700))
	s, err := storage.Open(dir, storage.Options{Durability: storage.Sync})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	return dir
}

func TestPorts(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close() //nolint:errcheck // ends with the test
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	alive := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) }))
	defer alive.Close()
	rest := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer rest.Close()
	address := func(s *httptest.Server) string { return strings.TrimPrefix(s.URL, "http://") }

	in := input(t)
	in.Config.Node.Listen = []string{address(other), "unix:" + filepath.Join(t.TempDir(), "s"), "192.0.2.1:1"}
	in.Config.Node.HTTP, in.Config.Node.Admin = address(rest), address(alive)
	asked := false
	in.ServerProgram = func(context.Context) (Program, error) {
		asked = true
		return Program{Version: "v1", Build: build.Info{Commit: "bbbb"}}, nil
	}
	var listen []Finding
	found := Run(t.Context(), in)
	for _, f := range found {
		if f.Check == "listen" {
			listen = append(listen, f)
		}
	}
	require.Len(t, listen, 3)
	assert.Equal(t, Unfit, listen[0].Level)
	assert.Contains(t, listen[0].Message, "is in use, but not by a queued that answers")
	assert.Equal(t, Fit, listen[1].Level)
	assert.Equal(t, Unfit, listen[2].Level, "%v", listen[2])
	assert.Contains(t, find(t, found, "http").Message, "is answered by a queued")
	assert.Contains(t, find(t, found, "admin").Message, "is answered by a queued")
	assert.True(t, asked)
	assert.Equal(t, Warning, find(t, found, "version").Level)
	assert.Contains(t, find(t, found, "version").Message, "this is v1, commit aaaa, and the running server is another build, v1, commit bbbb")

	in.ServerProgram = func(context.Context) (Program, error) { return in.Program, nil }
	assert.Equal(t, Fit, find(t, Run(t.Context(), in), "version").Level)
	in.ServerProgram = func(context.Context) (Program, error) { return Program{Version: "v0"}, nil }
	f := find(t, Run(t.Context(), in), "version")
	assert.Equal(t, Unknown, f.Level)
	assert.Contains(t, f.Message, "the running server is v0: the source of at least one is unknown")
	in.ServerProgram = func(context.Context) (Program, error) { return Program{}, &AskError{"no token", "pass one"} }
	f = find(t, Run(t.Context(), in), "version")
	assert.Equal(t, Finding{Check: "version", Level: Unknown, Message: "this is v1, commit aaaa; the server does not report its program: no token", Remedy: "pass one"}, f)
	in.Config.Node.HTTP = address(other)
	assert.Equal(t, Unfit, find(t, Run(t.Context(), in), "http").Level)
	in.Config.Node.Admin = address(other)
	assert.Equal(t, Unfit, find(t, Run(t.Context(), in), "admin").Level)
	assert.Equal(t, "localhost:7070", Local("0.0.0.0:7070"))
	assert.Equal(t, "localhost:7070", Local(":7070"))
	assert.Equal(t, "10.0.0.1:7070", Local("10.0.0.1:7070"))

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var r report
	r.port(ctx, "listen", silent.Addr().String(), false, false, func(ctx context.Context) error { return askQueue(ctx, silent.Addr().String(), false) })
	assert.Equal(t, Unfit, r[0].Level)
}
