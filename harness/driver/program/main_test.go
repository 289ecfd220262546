package program

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/driver/null"
)

// actEnv makes the test binary act as a driver program. Its value selects a regular program or a
// fault.
const actEnv = "DRIVER_PROGRAM_TEST"

func TestMain(m *testing.M) {
	act, is := os.LookupEnv(actEnv)
	if !is {
		goleak.VerifyTestMain(m)
		return
	}
	if act == "dies" {
		fmt.Fprintln(os.Stderr, "no such library")
		os.Exit(3)
	}
	if act == "hangs" {
		<-time.After(10 * time.Minute)
	}
	if err := Serve(context.Background(), os.Stdin, os.Stdout, memory{act}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// memory is an in-memory target.
type memory struct{ act string }

func (m memory) Describe(context.Context) Description {
	d := Description{
		Name: "memory", Product: "Null", Version: "1.0", Client: "null 1", Guarantees: []Guarantee{Memory, OS}, Nodes: []int{1},
		Settings: []Setting{{Name: "a", Value: "b", Because: "it is faster"}}, Claim: "It is fast (README).",
	}
	if m.act == "missing" {
		d.Missing = "null-server is not installed: install it"
	}
	return d
}

func (m memory) Launch(_ context.Context, spec LaunchSpec) (Server, error) {
	if err := os.WriteFile(filepath.Join(spec.Folder, "launched"), []byte(fmt.Sprint(spec.Queues, spec.Batch, spec.Lease, spec.Settings)), 0o600); err != nil {
		return nil, err
	}
	return &memoryServer{folder: spec.Folder, target: null.New(), act: m.act}, nil
}

type memoryServer struct {
	folder string
	target *null.Target
	act    string
	starts int
}

func (s *memoryServer) PIDs() []int { return []int{100 + s.starts} }

func (s *memoryServer) Dial(context.Context) (driver.Conn, error) {
	if s.act == "refuses" {
		return nil, errors.New("connection refused")
	}
	if s.act == "dies in a call" {
		return dying{s.target.Dial()}, nil
	}
	return s.target.Dial(), nil
}

func (s *memoryServer) Kill(context.Context) error { return s.note("killed") }

func (s *memoryServer) Restart(context.Context) error {
	s.starts++
	return s.note("restarted")
}

func (s *memoryServer) Stop(context.Context) error { return s.note("stopped") }

func (s *memoryServer) note(what string) error {
	return os.WriteFile(filepath.Join(s.folder, what), nil, 0o600)
}

// dying is a connection whose enqueue ends the program.
type dying struct{ driver.Conn }

func (d dying) Producer(context.Context, string) (driver.Producer, error) { return d, nil }

func (dying) Enqueue(context.Context, []driver.Task, []error) error {
	os.Exit(7)
	return nil
}

// program starts this binary as a driver program.
func program(t testing.TB, act string) (*Process, error) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	t.Setenv(actEnv, act)
	p, err := Start(context.Background(), filepath.Join(t.TempDir(), "program.log"), self)
	if err == nil {
		t.Cleanup(func() { assert.NoError(t, p.Kill()) })
	}
	return p, err
}

func spec(t testing.TB) LaunchSpec {
	return LaunchSpec{
		Target: "memory", Folder: t.TempDir(), Guarantee: Memory, Nodes: 1, Queues: []Queue{{"t0", "q0"}}, Batch: 8,
		Lease: time.Minute, Settings: map[string]string{"x": "y"},
	}
}

// launch starts a program and makes it launch its target.
func launch(t testing.TB, act string) (*Process, *Launched, LaunchSpec) {
	t.Helper()
	p, err := program(t, act)
	require.NoError(t, err)
	s := spec(t)
	l, err := p.Launch(context.Background(), s)
	require.NoError(t, err)
	return p, l, s
}
