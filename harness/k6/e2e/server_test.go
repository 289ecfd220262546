package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	startLimit = 30 * time.Second
	stopLimit  = 15 * time.Second
)

// server is a queued process of the test, with the token of its first start.
type server struct {
	address, admin, token string

	process *exec.Cmd
	ended   chan struct{} // closed when the process has ended
	log     *bytes.Buffer // only read after ended
	stop    func()
}

// serve starts a server on free ports. The server stops when the test ends.
func serve(t *testing.T) *server {
	t.Helper()
	dir := t.TempDir()
	addresses := filepath.Join(dir, "addresses.json")
	s := &server{ended: make(chan struct{}), log: new(bytes.Buffer)}
	s.process = exec.Command(queued, "serve", "--data", filepath.Join(dir, "data"), "--durability", "none", "--http", "",
		"--address-file", addresses, "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0")
	s.process.Stdout, s.process.Stderr = s.log, s.log
	s.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(t, s.process.Start())
	go func() {
		defer close(s.ended)
		_ = s.process.Wait() // the test checks how it ended
	}()
	s.stop = sync.OnceFunc(func() { end(t, s.process.Process, s.ended) })
	t.Cleanup(func() {
		s.stop()
		if t.Failed() {
			t.Logf("queued printed:\n%s", s.log)
		}
	})
	s.address, s.admin = s.ready(t, addresses)
	token, err := os.ReadFile(filepath.Join(dir, "data", "admin.token"))
	require.NoError(t, err)
	s.token = strings.TrimSpace(string(token))
	return s
}

// ready waits until the server answers, and returns its gRPC and admin addresses.
func (s *server) ready(t *testing.T, addresses string) (grpc, admin string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startLimit)
	defer cancel()
	var at struct {
		Listen []string `json:"listen"`
		Admin  string   `json:"admin"`
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if text, err := os.ReadFile(addresses); err == nil && json.Unmarshal(text, &at) == nil && s.answers(ctx, at.Admin) {
			require.NotEmpty(t, at.Listen)
			return at.Listen[0], at.Admin
		}
		select {
		case <-tick.C:
		case <-s.ended:
			require.FailNow(t, "queued ended before it was ready", s.log.String())
		case <-ctx.Done():
			require.FailNow(t, "queued was not ready in time")
		}
	}
}

func (s *server) answers(ctx context.Context, admin string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+admin+"/readyz", nil)
	if err != nil {
		return false
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	_ = answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// end terminates a process, and kills it if that takes too long.
func end(t *testing.T, process *os.Process, ended <-chan struct{}) {
	t.Helper()
	_ = process.Signal(syscall.SIGTERM) // it may have ended
	limit := time.NewTimer(stopLimit)
	defer limit.Stop()
	select {
	case <-ended:
	case <-limit.C:
		t.Errorf("process %d did not stop in time", process.Pid)
		_ = process.Kill()
		<-ended
	}
}

// environment returns the environment variables with which k6 reaches the server.
func (s *server) environment() []string {
	return []string{"PRONY_ADDRESS=" + s.address, "PRONY_ADMIN=" + s.admin, "PRONY_TOKEN=" + s.token}
}
