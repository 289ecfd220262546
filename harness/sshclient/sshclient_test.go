package sshclient_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/pronybench/prony/harness/sshclient"
	"github.com/pronybench/prony/harness/sshclient/sshtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds waits for events that must happen. It does not test speed.
const patience = 30 * time.Second

func TestRun(t *testing.T) {
	on := sshtest.Start(t).Host
	out, err := on.Run(t.Context(), `cat; echo "it's $((1 + 2))"`, strings.NewReader("input\n"))
	require.NoError(t, err)
	assert.Equal(t, "input\nit's 3\n", string(out))

	_, err = on.Run(t.Context(), "echo no such thing >&2; exit 7", nil)
	require.ErrorContains(t, err, "ssh sshtest: exit status 7: no such thing")

	_, err = on.Run(t.Context(), "head -c 2000000 /dev/zero", nil)
	require.ErrorContains(t, err, "the output is larger than 1048576 bytes")

	_, err = sshclient.Host("sshtest.invalid").Run(t.Context(), "true", nil)
	require.ErrorContains(t, err, "ssh sshtest.invalid: exit status 255", "an unknown host")

	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = on.Run(ctx, "exec sleep 20", nil)
	require.ErrorContains(t, err, "cancelled")
}

func TestQuote(t *testing.T) {
	assert.Equal(t, `'a'\''b $c'`, sshclient.Quote("a'b $c"))
}

// traps is a program that prints the signals that it gets.
const traps = `trap 'echo TERM; touch "$2/asked"; exit 3' TERM
echo "began in $(pwd) with $OWN and ${QUEUED_X-nothing} and $1"
while :; do sleep 0.1; done
`

// program starts traps in a folder. It returns the session and a function that returns the output,
// once the program has begun.
func program(t *testing.T, on sshclient.Host, dir string) (*sshclient.Session, func() string) {
	t.Helper()
	path := filepath.Join(dir, "log")
	log, err := os.Create(path)
	require.NoError(t, err)
	t.Setenv("QUEUED_X", "from outside")
	s, err := on.Start(sshclient.Program{
		Dir: dir, Command: []string{"sh", "-c", traps, "sh", "it's", dir}, Env: map[string]string{"OWN": "a b"}, Unset: "QUEUED_",
	}, log)
	require.NoError(t, err)
	require.NoError(t, log.Close())
	said := func() string {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		return strings.ReplaceAll(string(text), dir, "DIR")
	}
	require.Eventually(t, func() bool { return said() != "" }, patience, 10*time.Millisecond)
	require.Equal(t, "began in DIR with a b and nothing and it's\n", said())
	return s, said
}

func ended(t *testing.T, s *sshclient.Session) {
	t.Helper()
	select {
	case <-s.Done():
	case <-time.After(patience):
		require.Fail(t, "the session does not end")
	}
}

func TestSessionsSendSignals(t *testing.T) {
	on := sshtest.Start(t).Host
	s, said := program(t, on, t.TempDir())
	assert.Equal(t, "running", s.Status())
	require.NoError(t, s.Signal(syscall.SIGSTOP))
	require.NoError(t, s.Signal(syscall.SIGTERM))
	require.NoError(t, s.Signal(syscall.SIGCONT))
	require.ErrorContains(t, s.Signal(syscall.SIGHUP), "can't send hangup")
	ended(t, s)
	assert.Contains(t, said(), "TERM\n")
	assert.Equal(t, "exit status 3", s.Status())
	assert.False(t, s.Orderly())
	require.NoError(t, s.Signal(syscall.SIGTERM), "a signal to an ended session does nothing")

	s, _ = program(t, on, t.TempDir())
	require.NoError(t, s.Kill())
	assert.Equal(t, "ended by signal 9", s.Status())
}

// A program does not outlive its connection.
func TestSessionsEndTheirProgramWithTheConnection(t *testing.T) {
	server := sshtest.Start(t)
	dir := t.TempDir()
	s, said := program(t, server.Host, dir)
	require.True(t, runs(t, dir))
	server.Cut()
	ended(t, s)
	assert.Contains(t, s.Status(), "the connection ended")
	require.Eventually(t, func() bool { return strings.Contains(said(), "Connection") }, patience, 10*time.Millisecond, "ssh's messages are in the log")
	require.Eventually(t, func() bool { return !runs(t, dir) }, patience, 10*time.Millisecond, "the program ended too")
	assert.FileExists(t, filepath.Join(dir, "asked"), "in order")
}

// runs reports whether there is a process whose last argument is the given word.
func runs(t *testing.T, word string) bool {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	for _, f := range files {
		line, err := os.ReadFile(f)
		if err == nil && strings.HasSuffix(string(line), "\x00"+word+"\x00") {
			return true
		}
	}
	return false
}
