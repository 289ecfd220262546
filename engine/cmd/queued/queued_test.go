package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/pronybench/prony/engine/buildtest"
	"google.golang.org/grpc"

	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/config"
	"github.com/pronybench/prony/engine/internal/waittest"
	"github.com/pronybench/prony/engine/queuepb"
)

// binary is the program, built once.
var binary string

func TestMain(m *testing.M) {
	// A server refuses tasks while its file system has little free space. Tests do not depend on
	// the space of their host.
	if err := os.Setenv("QUEUED_DISK_LOW", "0B"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	var err error
	if binary, err = buildtest.Program("queued", "engine/cmd/queued"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

const patience = waittest.Most

// process is a running 'queued serve'.
type process struct {
	*testing.T
	addresses

	file    string // the address file
	command *exec.Cmd
	log     *syncBuffer
	exited  chan struct{}
}

// syncBuffer collects a process's log while a test reads it.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// start runs "queued serve" and waits until it serves.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	return startAs(t, func(args []string) *exec.Cmd { return exec.Command(args[0], args[1:]...) }, args...)
}

// startAs is start with a command that the test makes from the program and its arguments.
func startAs(t *testing.T, command func(args []string) *exec.Cmd, args ...string) *process {
	t.Helper()
	p := launch(t, filepath.Join(t.TempDir(), "addresses.json"), command, args...)
	p.serves()
	return p
}

// launch is startAs without the wait, and with a path for the address file.
func launch(t *testing.T, file string, command func(args []string) *exec.Cmd, args ...string) *process {
	t.Helper()
	if err := os.Remove(file); !errors.Is(err, os.ErrNotExist) { // of an earlier server
		require.NoError(t, err)
	}
	p := &process{T: t, file: file, log: &syncBuffer{}, exited: make(chan struct{})}
	p.command = command(append([]string{binary, "serve", "--listen", "127.0.0.1:0", "--http", "", "--admin", "127.0.0.1:0", "--address-file", file}, args...))
	p.command.Stderr = p.log
	require.NoError(t, p.command.Start())
	go func() {
		defer close(p.exited)
		_ = p.command.Wait()
	}()
	t.Cleanup(func() { p.kill() })
	return p
}

// serves waits until the process serves.
func (p *process) serves() {
	p.Helper()
	ended, served := false, false
	require.Eventually(p, func() bool {
		select {
		case <-p.exited:
			ended = true
		default:
		}
		_, err := os.Stat(p.file)
		served = err == nil
		return ended || served
	}, patience, time.Millisecond)
	require.True(p, served, "queued ended: %s", p.log)
	text, err := os.ReadFile(p.file)
	require.NoError(p, err)
	require.NoError(p, json.Unmarshal(text, &p.addresses), "the file is written atomically")
}

// kill ends the process like a crash.
func (p *process) kill() {
	_ = p.command.Process.Kill()
	<-p.exited
}

// terminate asks the process to stop, and returns its exit code.
func (p *process) terminate(signal os.Signal) int {
	p.Helper()
	require.NoError(p, p.command.Process.Signal(signal))
	select {
	case <-p.exited:
	case <-time.After(patience):
		require.Fail(p, "queued does not stop", p.log.String())
	}
	return p.command.ProcessState.ExitCode()
}

func (p *process) dial(options ...grpc.DialOption) *client.Client {
	p.Helper()
	return p.dialAt(p.Listen[0], options...)
}

// dialOnce is dial for a client that does not wait for a killed server.
func (p *process) dialOnce() *client.Client {
	p.Helper()
	return p.dial(client.WithRetryMax(0))
}

// opened opens a session of a client that dialOnce returned. The client needs another attempt if the
// server pauses for a second.
func opened[S any](t *testing.T, open func() (S, error)) (session S) {
	t.Helper()
	require.Eventually(t, func() (ok bool) {
		var err error
		session, err = open()
		return err == nil
	}, patience, time.Millisecond)
	return session
}

func (p *process) dialAt(address string, options ...grpc.DialOption) *client.Client {
	p.Helper()
	c, err := client.Dial(address, append(options, client.WithToken(p.token()))...)
	require.NoError(p, err)
	return c
}

// token returns the operator's token that the server created.
func (p *process) token() string {
	p.Helper()
	text, err := os.ReadFile(p.TokenFile)
	require.NoError(p, err)
	return strings.TrimSpace(string(text))
}

func (p *process) get(path string) string {
	p.Helper()
	defer http.DefaultClient.CloseIdleConnections()
	request, err := http.NewRequestWithContext(p.Context(), http.MethodGet, "http://"+p.Admin+path, nil)
	require.NoError(p, err)
	request.Header.Set("Authorization", "Bearer "+p.token())
	answer, err := http.DefaultClient.Do(request)
	require.NoError(p, err)
	body, err := io.ReadAll(answer.Body)
	require.NoError(p, errors.Join(err, answer.Body.Close()))
	require.Equal(p, http.StatusOK, answer.StatusCode, "%s", body)
	return string(body)
}

// run runs the program to its end.
func run(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c := exec.CommandContext(ctx, binary, args...)
	var out, log bytes.Buffer
	c.Stdout, c.Stderr = &out, &log
	var exit *exec.ExitError
	if err := c.Run(); err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	return c.ProcessState.ExitCode(), out.String(), log.String()
}

func TestServeWritesItsAddressesAndServes(t *testing.T) {
	socket := "unix:" + filepath.Join(t.TempDir(), "s")
	p := start(t, "--data", t.TempDir(), "--listen", socket)
	assert.Equal(t, p.command.Process.Pid, p.PID)
	require.Len(t, p.Listen, 2)
	assert.Equal(t, socket, p.Listen[1])
	for _, address := range append(p.Listen[:1:1], p.Admin) {
		_, port, err := net.SplitHostPort(address)
		require.NoError(t, err)
		assert.NotEqual(t, "0", port)
	}
	assert.Equal(t, "ok\n", p.get("/readyz"))
	for _, address := range p.Listen {
		c := p.dialAt(address)
		_, err := c.API().Enqueue(context.Background(), &queuepb.EnqueueRequest{Tasks: []*queuepb.NewTask{{Queue: "q"}}})
		require.NoError(t, err)
		require.NoError(t, c.Close())
	}
	assert.Equal(t, 0, p.terminate(syscall.SIGTERM))
}

// TestASignalEndsItInOrder stops servers whose clients have open streams, waiting claims and
// profiles.
func TestASignalEndsItInOrder(t *testing.T) {
	for _, signal := range []os.Signal{syscall.SIGTERM, syscall.SIGINT} {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		data := t.TempDir()
		p := start(t, "--data", data, "--durability", "none")
		c := p.dialOnce()
		producer := opened(t, func() (*client.Producer, error) { return c.Producer(ctx, "") })
		_, err := producer.Enqueue(ctx, client.Task{Queue: "q", Payload: []byte("kept")})
		require.NoError(t, err)
		worker := opened(t, func() (*client.Worker, error) {
			return c.Worker(ctx, client.WorkerConfig{Queues: []string{"q", "other"}, Slots: 10, Lease: time.Hour})
		})
		task, err := worker.Receive(ctx)
		require.NoError(t, err)
		claimed := make(chan error, 1)
		go func() {
			_, err := c.API().Claim(ctx, &queuepb.ClaimRequest{Queues: []string{"third"}, WaitMs: 60_000})
			claimed <- err
		}()
		require.Eventually(t, func() bool { return strings.Contains(p.get("/metrics"), "\nprony_subscribers 2\n") }, patience, time.Millisecond, "the stream and the claim subscribe")

		assert.Equal(t, 0, p.terminate(signal))
		assert.NotContains(t, p.log.String(), "cutting connections", "all calls ended without a cut")
		assert.Contains(t, p.log.String(), "stopped")
		require.NoError(t, <-claimed)
		_, err = worker.Receive(ctx)
		require.Error(t, err)
		require.NoError(t, worker.Close(ctx))
		require.NoError(t, producer.Close(ctx))
		require.NoError(t, c.Close())

		// Another server continues with the data.
		p = start(t, "--data", data, "--durability", "sync")
		c = p.dial()
		out, err := c.API().Complete(ctx, &queuepb.CompleteRequest{Completions: []*queuepb.Completion{{Id: task.GetId(), Token: task.GetToken()}}})
		require.NoError(t, err)
		assert.Nil(t, out.GetResults()[0].GetError())
		require.NoError(t, c.Close())
		assert.Equal(t, 0, p.terminate(signal))
		cancel()
	}
}

func TestStartupFailuresEndWithACodeAndAMessage(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close() //nolint:errcheck // ends with the test
	locked := t.TempDir()
	start(t, "--data", locked)
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, []byte("no PEM"), 0o600))
	bad := filepath.Join(dir, "bad.hcl")
	require.NoError(t, os.WriteFile(bad, []byte("shrads = 1\n"), 0o600))
	tlsFile := filepath.Join(dir, "tls.hcl")
	require.NoError(t, os.WriteFile(tlsFile, []byte("tls {\n  cert = \"missing.pem\"\n  key  = \"missing.pem\"\n}\n"), 0o600))
	twoShards := t.TempDir()
	p := start(t, "--data", twoShards, "--shards", "2")
	require.Equal(t, 0, p.terminate(os.Interrupt))
	_, backup := backedUp(t)
	cert, key := certificate(t, "server")
	_, otherKey := certificate(t, "other")
	for name, c := range map[string]struct {
		code int
		args string
		want []string
	}{
		// Causes that may disappear by themselves, or when something else stops.
		"taken port":         {1, "--listen " + taken.Addr().String(), []string{taken.Addr().String(), "address already in use", "choose another address with --listen"}},
		"taken admin port":   {1, "--listen 127.0.0.1:0 --admin " + taken.Addr().String(), []string{"admin: ", taken.Addr().String()}},
		"locked data folder": {1, "--data " + locked, []string{locked, "lock"}},
		// Causes that a person must remove first.
		"unknown flag":             {2, "--nonsense", []string{"unknown flag: --nonsense"}},
		"an argument":              {2, "extra", []string{"extra"}},
		"bad durability":           {2, "--durability maybe", []string{"--durability", `"maybe"`, `"sync", "interval", "none"`}},
		"bad sync interval":        {2, "--sync-interval 10", []string{"--sync-interval"}},
		"long sync interval":       {2, "--sync-interval 2m", []string{"--sync-interval", "is not from 1ms to 1m"}},
		"bad log level":            {2, "--log-level loud", []string{"--log-level", `"loud"`}},
		"not loopback":             {2, "--listen :7070", []string{"--listen: ", "not a loopback address", "--tls-cert and --tls-key", "--insecure"}},
		"no address":               {2, "--listen 7070", []string{`"7070"`, "host:port"}},
		"no such port":             {2, "--admin 127.0.0.1:70000", []string{"--admin: ", `the port "70000", which does not exist`}},
		"missing file":             {2, "--config " + filepath.Join(dir, "missing.hcl"), []string{"missing.hcl: can't be read"}},
		"unreadable file":          {2, "--config " + dir, []string{"is not a regular file"}},
		"bad file":                 {2, "--config " + bad, []string{"bad.hcl:1:1: ", "did you mean shards?"}},
		"missing certificate":      {2, "--tls-cert missing --tls-key " + key, []string{"--tls-cert: the TLS certificate cannot be read", "missing"}},
		"certificate in the file":  {2, "--config " + tlsFile, []string{"tls.hcl:2:3: the TLS certificate cannot be read"}},
		"unreadable certificate":   {2, "--tls-key " + key + " --tls-cert " + dir, []string{"--tls-cert: the TLS certificate cannot be read", "is a directory"}},
		"unreadable key":           {2, "--tls-cert " + cert + " --tls-key " + dir, []string{"--tls-key: the TLS key cannot be read", "is a directory"}},
		"another key":              {2, "--tls-cert " + cert + " --tls-key " + otherKey, []string{"--tls-cert: ", "private key does not match", "belong together"}},
		"no certificate":           {2, "--tls-cert " + file + " --tls-key " + key, []string{"--tls-cert: ", "failed to find any PEM"}},
		"missing client authority": {2, "--tls-cert " + cert + " --tls-key " + key + " --tls-client-ca missing", []string{"--tls-client-ca: ", "missing"}},
		"bad client authority":     {2, "--tls-cert " + cert + " --tls-key " + key + " --tls-client-ca " + file, []string{"--tls-client-ca: ", "has no certificate in PEM"}},
		"missing node certificate": {2, "--cluster-node n1 --cluster-listen 127.0.0.1:0 --cluster-certs " + dir, []string{"--cluster-certs: ", "ca.crt: no such file"}},
		"data folder in a file":    {2, "--data " + file + "/data", []string{"--data: ", "not a directory", "--data that the user of the server may write"}},
		"data folder is a file":    {2, "--data " + file, []string{"--data: ", "not a directory"}},
		"data folder is a backup":  {2, "--data " + backup, []string{"--data: ", "is a backup"}},
		"other number of shards":   {2, "--data " + twoShards, []string{"--data: the number of shards of data folder", "is 2, not 1", "start with --shards 2"}},
		"socket in no folder":      {2, "--listen unix:" + file + "/s", []string{"--listen: ", "not a directory"}},
		"socket is a file":         {2, "--listen unix:" + file, []string{"--listen: ", "is not a socket"}},
		"little memory":            {2, "--memory 64MiB --limits-payload-max 12MiB", []string{"--memory: "}},
		"bad address file":         {2, "--address-file " + filepath.Join(dir, "missing", "a"), []string{"--address-file: ", "address file", "missing"}},
	} {
		t.Run(name, func(t *testing.T) {
			args := []string{"serve", "--http", "", "--data", t.TempDir()}
			if !strings.Contains(c.args, "--admin") {
				args = append(args, "--admin", "")
			}
			if !strings.Contains(c.args, "--listen ") {
				args = append(args, "--listen", "127.0.0.1:0")
			}
			code, stdout, stderr := run(t, append(args, strings.Fields(c.args)...)...)
			assert.Equal(t, c.code, code, stderr)
			assert.Empty(t, stdout)
			assert.Contains(t, stderr, "queued: ")
			for _, want := range c.want {
				assert.Contains(t, stderr, want)
			}
			assert.NotContains(t, stderr, "panic")
		})
	}
}

// The address file contains the settings of the process, so that a reader need not repeat its
// flags, environment and file.
func TestServeWritesItsSettings(t *testing.T) {
	p := startAs(t, func(args []string) *exec.Cmd {
		c := exec.Command(args[0], args[1:]...)
		c.Env = append(os.Environ(), "QUEUED_SYNC_INTERVAL=20ms", "GOMAXPROCS=1", "GOGC=123")
		return c
	}, "--data", t.TempDir(), "--durability", "interval", "--busy-poll")
	found := map[string]settingDocument{}
	for _, s := range p.Settings {
		found[s.Name] = s
	}
	for _, s := range config.NewLoader().Settings() {
		assert.Contains(t, found, s.Path)
	}
	for _, want := range []settingDocument{
		{"durability", "interval", config.FromFlag, "--durability"},
		{"busy_poll", "true", config.FromFlag, "--busy-poll"},
		{"sync_interval", "20ms", config.FromEnvironment, "QUEUED_SYNC_INTERVAL"},
		{"shards", "1", config.FromDefault, ""},
		{"runtime.gomaxprocs", "1", originRuntime, ""},
		{"runtime.gogc_percent", "123", originRuntime, ""},
	} {
		assert.Equal(t, want, found[want.Name])
	}
	assert.NotEmpty(t, found["runtime.gomemlimit_bytes"].Value)

	var page struct {
		Settings []settingDocument `json:"settings"`
	}
	require.NoError(t, json.Unmarshal([]byte(p.get("/settings")), &page))
	assert.Equal(t, p.Settings, page.Settings, "the admin listener reports the same")
}

func TestAnOldAddressFileDoesNotOutliveTheStart(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close() //nolint:errcheck // ends with the test
	file := filepath.Join(t.TempDir(), "a")
	require.NoError(t, os.WriteFile(file, []byte(`{"pid":1}`), 0o600))
	code, _, _ := run(t, "serve", "--data", t.TempDir(), "--listen", taken.Addr().String(), "--address-file", file)
	assert.Equal(t, 1, code)
	assert.NoFileExists(t, file, "a reader must not find another server's address")
}

func TestHelpOfTheProgram(t *testing.T) {
	for _, args := range [][]string{{}, {"--help"}, {"serve", "--help"}} {
		code, stdout, stderr := run(t, args...)
		assert.Equal(t, 0, code)
		assert.Contains(t, stdout, "serve")
		assert.Empty(t, stderr)
	}
}
