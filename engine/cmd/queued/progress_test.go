package main

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/pronybench/prony/engine/adminpb"
)

// atOnce shows progress from the start of a command.
var atOnce = progressTimes{first: time.Nanosecond, terminal: time.Millisecond, plain: time.Millisecond}

// seen waits until a log contains a text.
func (s *syncBuffer) seen(t *testing.T, text string) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(s.String(), text) }, patience, time.Millisecond, text)
}

// A short command shows no progress, whatever standard error is.
func TestShortCommandsShowNoProgress(t *testing.T) {
	for _, terminal := range []bool{false, true} {
		var log syncBuffer
		a := &app{err: &log, progress: terminal}
		a.during(func() string { return "something" })()
		assert.Empty(t, log.String())
	}
}

func TestProgressOverwritesItselfOnATerminal(t *testing.T) {
	var log syncBuffer
	p := &progress{app: &app{err: &log, progress: true}}
	p.show("copied 10 of 20 MiB", 3*time.Second)
	p.show("copied 9 MiB", 61*time.Second)
	p.clear()
	assert.Equal(t, "\rcopied 10 of 20 MiB (3s)\rcopied 9 MiB (1m1s)     \r"+strings.Repeat(" ", 19)+"\r", log.String())
}

func TestProgressIsLinesElsewhere(t *testing.T) {
	var log syncBuffer
	p := &progress{app: &app{err: &log}}
	p.show("copied 10 of 20 MiB", 3*time.Second)
	p.show("copied 20 of 20 MiB", 13*time.Second)
	p.clear()
	assert.Equal(t, "copied 10 of 20 MiB (3s)\ncopied 20 of 20 MiB (13s)\n", log.String())
	log = syncBuffer{}
	a := &app{err: &log, output: formatJSON, progressTimes: atOnce}
	a.during(func() string { return "something" })()
	assert.Empty(t, log.String(), "a program reads standard error as one document")
}

// Each call that may take long shows what the server does.
func TestLongCallsShowProgress(t *testing.T) {
	for want, args := range map[string][]string{
		"the server writes the backup":            {"backup"},
		"the server removes tasks of queue mail":  {"queues", "purge", "mail", "--yes"},
		"the server removes queue mail":           {"queues", "delete", "mail", "--force", "--yes"},
		"the server redrives all dead letters of": {"dead", "redrive", "--queue", "mail", "--all"},
		"the server removes all dead letters of":  {"dead", "purge", "--queue", "mail", "--all", "--yes"},
		"of at most 100 listed":                   {"queues", "list"},
	} {
		t.Run(want, func(t *testing.T) {
			var out, log syncBuffer
			l, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			g := grpc.NewServer(grpc.UnaryInterceptor(func(ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
				assert.Eventually(t, func() bool { return strings.Contains(log.String(), want) }, patience, time.Millisecond)
				return next(ctx, request)
			}))
			adminpb.RegisterAdminServiceServer(g, &admin{pages: 1})
			served := make(chan error, 1)
			go func() { served <- g.Serve(l) }()
			a := &app{in: strings.NewReader(""), out: &out, err: &log, env: []string{"QUEUED_ADMIN_SERVER=" + l.Addr().String(), "QUEUED_TOKEN=x"}, progressTimes: atOnce}
			assert.Equal(t, exitOK, a.execute(t.Context(), args), log.String())
			g.Stop()
			require.NoError(t, <-served)
		})
	}
}

// Waits show what they wait for, and enqueue --lines shows the number of stored lines.
func TestWaitsShowProgress(t *testing.T) {
	s, _ := serveInProcess(t)
	begin := func(in io.Reader, args ...string) (log *syncBuffer, done <-chan int) {
		log = &syncBuffer{}
		a := &app{in: in, out: io.Discard, err: log, env: s.env, progressTimes: atOnce}
		ended := make(chan int, 1)
		go func() { ended <- a.execute(t.Context(), args) }()
		return log, ended
	}
	log, done := begin(nil, "claim", "--queue", "mail", "--wait", "10m")
	log.seen(t, "waiting for a task of mail (")
	id := strings.TrimSpace(s.ok("enqueue", "--queue", "mail", "x"))
	assert.Equal(t, exitOK, <-done)

	log, done = begin(nil, "result", id, "--wait", "10m")
	log.seen(t, "waiting for the outcome of task "+id)
	s.ok("tasks", "cancel", id, "--yes")
	<-done

	in, typed := io.Pipe()
	log, done = begin(in, "enqueue", "--queue", "mail", "--lines")
	_, err := typed.Write([]byte("a\nb\n"))
	require.NoError(t, err)
	log.seen(t, "2 lines enqueued, ")
	require.NoError(t, typed.Close())
	assert.Equal(t, exitOK, <-done)
}
