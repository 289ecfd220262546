package generator

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/driver/null"
	"github.com/pronybench/prony/harness/driver/open"
	"github.com/pronybench/prony/harness/proc/dialogue"
	"github.com/pronybench/prony/harness/scenario"
)

// actEnv makes the test binary act as a generator with the drivers of dialFake.
const actEnv = "GENERATOR_TEST"

func TestMain(m *testing.M) {
	if act, is := os.LookupEnv(actEnv); is {
		fmt.Fprintln(os.Stderr, "GOMAXPROCS", runtime.GOMAXPROCS(0), "on", runtime.NumCPU(), "CPU", act)
		if err := Serve(context.Background(), os.Stdin, os.Stdout, dialFake); err != nil {
			fmt.Fprintln(os.Stderr, "generator:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// dialFake returns the null driver, or one of several drivers that fail.
func dialFake(s Spec) open.Dialer {
	target := null.New()
	return map[string]open.Dialer{
		"null":    func() (driver.Conn, error) { return target.Dial(), nil },
		"stalls":  func() (driver.Conn, error) { return stalling{target.Dial()}, nil },
		"refuses": func() (driver.Conn, error) { return nil, errors.New("connection refused") },
		"dies": func() (driver.Conn, error) {
			fmt.Fprintln(os.Stderr, "out of memory")
			os.Exit(3)
			return nil, nil
		},
	}[s.Workload.Driver]
}

// stalling is a connection whose enqueues are not answered.
type stalling struct{ driver.Conn }

func (s stalling) Producer(context.Context, string) (driver.Producer, error) { return s, nil }

func (stalling) Enqueue(ctx context.Context, _ []driver.Task, _ []error) error {
	<-ctx.Done()
	return ctx.Err()
}

func specOf(name string) Spec {
	return Spec{Round: 7, Workload: scenario.Workload{
		Name: "main", Driver: name, Connections: 2, Tenants: 2, Queues: 2, Producers: 4, Workers: 8, Batch: 2, Seed: 1, Lease: time.Minute,
		Payload: scenario.Payload{Kind: "uniform", Min: 64, Max: 96}, Arrivals: scenario.Arrivals{Kind: scenario.Closed}, InFlight: 16,
	}}
}

// served runs Serve in this process.
type served struct {
	t       *testing.T
	in      *io.PipeWriter
	answers *bufio.Scanner
	ended   chan error
}

func serve(t *testing.T) *served {
	in, commands := io.Pipe()
	answers, out := io.Pipe()
	s := &served{t: t, in: commands, answers: bufio.NewScanner(answers), ended: make(chan error, 1)}
	go func() {
		s.ended <- Serve(t.Context(), in, out, dialFake)
		_ = out.Close()
	}()
	t.Cleanup(func() { _ = commands.Close() })
	return s
}

func (s *served) send(line string) dialogue.Answer {
	s.t.Helper()
	_, err := io.WriteString(s.in, line+"\n")
	require.NoError(s.t, err)
	require.True(s.t, s.answers.Scan())
	var a dialogue.Answer
	require.NoError(s.t, json.Unmarshal(s.answers.Bytes(), &a))
	return a
}

func (s *served) do(command string, arguments any) dialogue.Answer {
	s.t.Helper()
	data, err := json.Marshal(arguments)
	require.NoError(s.t, err)
	line, err := json.Marshal(dialogue.Request{Do: command, With: data})
	require.NoError(s.t, err)
	return s.send(string(line))
}

func TestCyclesOfSlicesAreThoseOfTheLedger(t *testing.T) {
	s := serve(t)
	require.Empty(t, s.do("open", specOf("null")).Error)
	var cycles uint64
	for range 5 {
		a := s.do("slice", sliceArguments{Length: 5 * time.Millisecond})
		require.Empty(t, a.Error)
		var slice Slice
		require.NoError(t, json.Unmarshal(a.Done, &slice))
		cycles += slice.Cycles
	}
	var r Report
	require.NoError(t, json.Unmarshal(s.do(commandFinish, none{}).Done, &r))
	assert.NotZero(t, cycles)
	assert.Equal(t, cycles, r.Ledger.Completed)
	assert.Equal(t, cycles, r.Ledger.Enqueued)
	assert.Nil(t, r.Open)
	assert.NoError(t, <-s.ended)
}

func TestCommandThatFailsIsAnswered(t *testing.T) {
	s := serve(t)
	require.Empty(t, s.do("open", specOf("null")).Error)
	texts := golden.Cases(t, "testdata/commands.golden")
	for _, line := range []string{
		`{"do":"open","with":{}}`,
		`{"do":"slice","with":{"length_ns":0}}`,
		`{"do":"slice","with":{"length_ns":"1s"}}`,
		`{"do":"open_slice","with":{"length_ns":1000}}`,
		`{"do":"sing"}`,
		`slice`,
		`{"do":"slice","with":{"length_ns":86400000000000}}`,
	} {
		texts.Equal(t, line, s.send(line).Error)
	}
	require.Empty(t, s.do("slice", sliceArguments{Length: time.Millisecond}).Error, "the load continues")
	require.Empty(t, s.do(commandFinish, nil).Error)
	assert.NoError(t, <-s.ended)
}

func TestSpecThatCannotBeOpened(t *testing.T) {
	texts := golden.Cases(t, "testdata/specs.golden")
	for name, change := range map[string]func(*Spec){
		"a driver":       func(s *Spec) { s.Workload.Driver = "embedded" },
		"no connections": func(s *Spec) { s.Workload.Connections = 0 },
		"no producers":   func(s *Spec) { s.Workload.Producers = 0 },
		"refused":        func(s *Spec) { s.Workload.Driver = "refuses" },
	} {
		t.Run(name, func(t *testing.T) {
			spec := specOf("null")
			change(&spec)
			s := serve(t)
			text := s.do("open", spec).Error
			texts.Equal(t, name, text)
			assert.EqualError(t, <-s.ended, text)
		})
	}
	s := serve(t)
	texts.Equal(t, "no load", s.do("slice", sliceArguments{Length: 1}).Error)
	assert.Error(t, <-s.ended)
}

func TestGeneratorEndsWithItsInput(t *testing.T) {
	t.Run("before the load", func(t *testing.T) {
		s := serve(t)
		require.NoError(t, s.in.Close())
		assert.NoError(t, <-s.ended)
	})
	t.Run("between slices", func(t *testing.T) {
		s := serve(t)
		require.Empty(t, s.do("open", specOf("null")).Error)
		require.NoError(t, s.in.Close())
		assert.NoError(t, <-s.ended)
	})
	t.Run("in a slice", func(t *testing.T) {
		s := serve(t)
		require.Empty(t, s.do("open", specOf("stalls")).Error)
		_, err := io.WriteString(s.in, `{"do":"slice","with":{"length_ns":60000000000}}`+"\n")
		require.NoError(t, err)
		require.NoError(t, s.in.Close())
		require.True(t, s.answers.Scan())
		assert.Contains(t, s.answers.Text(), "the input has ended")
		assert.NoError(t, <-s.ended)
	})
	t.Run("with a line that is too long", func(t *testing.T) {
		s := serve(t)
		go func() { _, _ = io.WriteString(s.in, strings.Repeat(" ", dialogue.LineBytesMax+1)) }()
		golden.Cases(t, "testdata/longline.golden").Error(t, "a long line", <-s.ended)
	})
}
