package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/buildtest"
	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/driver/null"
	"github.com/pronybench/prony/harness/driver/program"
	"github.com/pronybench/prony/harness/proc"
)

// programEnv makes the test binary act as a driver program with targets in memory. Each starts a
// process that does nothing: "good"; "loses", which drops one of each hundred acknowledged tasks;
// "full", which refuses one of each hundred tasks; "absent", which is not installed; and "refuses",
// which cannot be launched.
const programEnv = "PRONY_RUN_TEST_PROGRAM"

func actProgram() {
	if err := program.Serve(context.Background(), os.Stdin, os.Stdout, standInTarget("good"), standInTarget("loses"), standInTarget("full"), standInTarget("absent"), standInTarget("refuses")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// programScript creates a driver program from this test binary and returns its path.
func programScript(t *testing.T) string {
	t.Helper()
	executable, err := os.Executable()
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "driver")
	require.NoError(t, buildtest.WriteScript(path, fmt.Sprintf("#!/bin/sh\nexec env '%s=yes' '%s'\n", programEnv, executable)))
	return path
}

type standInTarget string

func (t standInTarget) Describe(context.Context) program.Description {
	d := program.Description{
		Name: string(t), Product: "Memory", Version: "1.2", Client: "null 1", Guarantees: []program.Guarantee{program.Memory, program.OS}, Nodes: []int{1},
		Settings: []program.Setting{{Name: "cache", Value: "all", Because: "memory is fast"}}, Claim: "It is fast (its README).",
	}
	if t == "absent" {
		d.Version, d.Missing = "", "it is not installed: install it"
	}
	return d
}

func (t standInTarget) Launch(_ context.Context, spec program.LaunchSpec) (program.Server, error) {
	if t == "refuses" {
		return nil, errors.New("the port is taken")
	}
	if len(spec.Settings) > 0 {
		return nil, fmt.Errorf("the server has no setting %v", spec.Settings)
	}
	s := &standInServer{does: string(t)}
	return s, s.start()
}

// standInServer stores tasks in memory and loses them when it is killed.
type standInServer struct {
	does string
	sent atomic.Int64

	mu      sync.Mutex
	target  *null.Target // nil while the server is down
	life    context.Context
	end     context.CancelFunc
	process *proc.Process
}

func (s *standInServer) start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	process, err := proc.Start(exec.Command("sleep", "600"))
	if err != nil {
		return err
	}
	s.process, s.target = process, null.New()
	s.life, s.end = context.WithCancel(context.Background())
	return nil
}

var errDown = errors.New("the server is down")

func (s *standInServer) current() (*null.Target, context.Context, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.target == nil {
		return nil, nil, errDown
	}
	return s.target, s.life, nil
}

func (s *standInServer) PIDs() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return []int{s.process.PID()}
}

func (s *standInServer) Dial(context.Context) (driver.Conn, error) { return standInConn{s}, nil }

func (s *standInServer) Kill(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.target = nil
	s.end()
	return s.process.Kill()
}

func (s *standInServer) Restart(context.Context) error { return s.start() }

func (s *standInServer) Stop(ctx context.Context) error { return s.Kill(ctx) }

// standInConn opens sessions that use the server's current target at each call.
type standInConn struct{ server *standInServer }

type standInProducer struct {
	server *standInServer
	tenant string
}

type standInWorker struct {
	server *standInServer
	tenant string
	queues []string
}

func (c standInConn) Producer(_ context.Context, tenant string) (driver.Producer, error) {
	return standInProducer{c.server, tenant}, nil
}

func (c standInConn) Worker(_ context.Context, tenant string, queues []string, _ int) (driver.Worker, error) {
	return standInWorker{c.server, tenant, queues}, nil
}

func (standInConn) Close() error { return nil }

func (p standInProducer) Enqueue(ctx context.Context, tasks []driver.Task, outcomes []error) error {
	target, _, err := p.server.current()
	if err != nil {
		return err
	}
	if n := int64(len(tasks)); p.server.does != "good" && p.server.sent.Add(n)%100 < n {
		if p.server.does == "full" {
			outcomes[0] = errors.New("the queue is full")
		}
		tasks, outcomes = tasks[1:], outcomes[1:]
	}
	if len(tasks) == 0 {
		return nil
	}
	producer, err := target.Dial().Producer(ctx, p.tenant)
	if err != nil {
		return err
	}
	return producer.Enqueue(ctx, tasks, outcomes)
}

func (w standInWorker) Claim(ctx context.Context, into []driver.Delivery) (int, error) {
	target, life, err := w.server.current()
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(life, cancel)()
	worker, err := target.Dial().Worker(ctx, w.tenant, w.queues, 1)
	if err != nil {
		return 0, err
	}
	return worker.Claim(ctx, into)
}

func (w standInWorker) Complete(ctx context.Context, deliveries []driver.Delivery, outcomes []error) error {
	target, _, err := w.server.current()
	if err != nil {
		return err
	}
	worker, err := target.Dial().Worker(ctx, w.tenant, w.queues, 1)
	if err != nil {
		return err
	}
	return worker.Complete(ctx, deliveries, outcomes)
}
