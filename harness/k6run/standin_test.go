package k6run

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/pronybench/prony/engine/buildtest"
	"github.com/pronybench/prony/harness/load"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// stepsEnv makes the test binary act as a k6 that executes the given steps, separated by " | ", and
// then exits with status 0.
const stepsEnv = "STAND_IN_STEPS"

func TestMain(m *testing.M) {
	if steps, is := os.LookupEnv(stepsEnv); is {
		s := standIn{}
		if err := s.act(strings.Split(steps, " | ")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// standIn acts as a k6 process.
type standIn struct {
	plan  Plan
	conn  net.Conn
	begun time.Time
}

func (s *standIn) act(steps []string) error {
	if err := json.Unmarshal([]byte(os.Getenv(PlanEnv)), &s.plan); err != nil {
		return err
	}
	for _, step := range steps {
		verb, argument, _ := strings.Cut(step, " ")
		if err := s.step(verb, argument); err != nil {
			return fmt.Errorf("%s: %w", step, err)
		}
	}
	return nil
}

func (s *standIn) step(verb, argument string) (err error) {
	switch verb {
	case "say": // to the log
		_, err = fmt.Fprintln(os.Stderr, argument)
	case "print": // to stdout
		_, err = fmt.Println(argument)
	case "note": // writes its arguments and environment to a file
		return os.WriteFile(argument, []byte(strings.Join(append(os.Args, os.Environ()...), "\n")), 0o600)
	case "connect":
		s.conn, err = net.Dial("unix", os.Getenv(ControlEnv))
	case "ready": // with a version
		version, _ := strconv.Atoi(argument)
		return s.send(Message{Ready: &Ready{Version: version}})
	case "raw":
		_, err = fmt.Fprintln(s.conn, argument)
	case "long": // a message that is too long
		_, err = s.conn.Write([]byte(strings.Repeat(" ", MessageBytesMax+1)))
	case "begin": // waits for the begin message and its time
		var begin Begin
		line, err := bufio.NewReader(s.conn).ReadBytes('\n')
		if err == nil {
			err = json.Unmarshal(line, &begin)
		}
		s.begun = time.Unix(0, begin.UnixNS)
		<-time.After(time.Until(s.begun))
		return err
	case "progress": // with the number of completed tasks
		n, _ := strconv.ParseUint(argument, 10, 64)
		return s.send(Message{Progress: &load.Progress{Phase: "window", Elapsed: time.Since(s.begun), Completed: n}})
	case "window": // waits for the window's end
		<-time.After(time.Until(s.begun.Add(s.plan.Phases.Warmup + s.plan.Phases.Window)))
	case "outcome": // of a closed load; with "open", of an open one
		return s.outcome(argument == "open")
	case "hang":
		select {}
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
	case "child": // starts a long-running process and writes its id to a file
		cmd := exec.Command("sleep", "600")
		if err := cmd.Start(); err != nil {
			return err
		}
		return os.WriteFile(argument, []byte(strconv.Itoa(cmd.Process.Pid)), 0o600)
	case "close":
		return s.conn.Close()
	case "die":
		return syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "exit":
		code, _ := strconv.Atoi(argument)
		os.Exit(code)
	default:
		return errors.New("unknown step")
	}
	return err
}

func (s *standIn) send(m Message) error { return json.NewEncoder(s.conn).Encode(m) }

func (s *standIn) outcome(open bool) error {
	h := result.NewHistograms()
	for _, set := range h.Kinds() {
		if err := set.Histogram.RecordValues(int64(time.Millisecond), 7); err != nil {
			return err
		}
	}
	o := &load.Outcome{
		Finished: time.Time{}.Add(time.Since(s.begun)), Cycles: 7, Enqueued: 8, EnqueueLatency: h.Enqueue, SettleLatency: h.Settle,
		CycleLatency: h.Cycle, Drained: true, FailedCalls: load.Refusals{Count: 1, First: "produce: it is closed"},
	}
	if open {
		o.Open = &load.Open{Arrivals: result.Arrivals{PerSecond: 9, Scheduled: 10}, Slip: result.NewHistogram(), Service: result.NewHistogram()}
	}
	encoded, err := Encode(o, result.Ledger{Enqueued: 8, Completed: 8, Samples: []string{"one"}})
	if err != nil {
		return err
	}
	return s.send(Message{Outcome: encoded})
}

// planned returns a plan with short phases and a script.
func planned(t *testing.T) Plan {
	t.Helper()
	path := filepath.Join(t.TempDir(), "plan.js")
	content := []byte("export default function () {}\n")
	require.NoError(t, os.WriteFile(path, content, 0o600))
	sum := sha256.Sum256(content)
	return Plan{
		Version: Version, Round: 42,
		Workload: scenario.Workload{
			Name: "main", Driver: scenario.DriverK6, Script: scenario.Script{Path: path, SHA256: hex.EncodeToString(sum[:])},
			Producers: 1, Workers: 1, Batch: 1, Arrivals: scenario.Arrivals{Kind: scenario.Closed},
		},
		Phases: scenario.Phases{Warmup: 10 * time.Millisecond, Window: 100 * time.Millisecond, Drain: 50 * time.Millisecond},
	}
}

// patience bounds waits for events that must happen. It is generous: no test checks speed.
const patience = 30 * time.Second

// acting returns the Config of a k6 that executes the steps, with patience as all timeouts.
func acting(t *testing.T, steps ...string) Config {
	t.Helper()
	executable, err := os.Executable()
	require.NoError(t, err)
	dir := t.TempDir()
	path := filepath.Join(dir, "k6")
	// A script sets the steps, because the tests check the environment that Start passes.
	text := fmt.Sprintf("#!/bin/sh\nexport %s='%s'\nexec '%s' \"$@\"\n", stepsEnv, strings.ReplaceAll(strings.Join(steps, " | "), "'", `'\''`), executable)
	require.NoError(t, buildtest.WriteScript(path, text))
	return Config{
		Binary: path, Plan: planned(t), Address: "127.0.0.1:1,127.0.0.1:2", Admin: "127.0.0.1:3", Token: "secret",
		LogPath: filepath.Join(dir, "log"), SummaryPath: filepath.Join(dir, "summary"),
		readyTimeout: patience, outcomeMargin: patience, exitTimeout: patience, grace: patience,
	}
}
