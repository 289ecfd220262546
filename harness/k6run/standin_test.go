package k6run

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
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
	"github.com/pronybench/prony/harness/proc/dialogue"
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
	commands *bufio.Reader
	answers  *os.File
	call     uint64 // number of the last command
	plan     Plan
	begun    time.Time
}

func (s *standIn) act(steps []string) (err error) {
	s.commands = bufio.NewReader(os.Stdin)
	if s.answers, err = os.OpenFile(os.Getenv(ControlEnv), os.O_WRONLY, 0); err != nil {
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
	case "hello": // with a version
		version, _ := strconv.Atoi(argument)
		return s.answer(dialogue.CommandHello, nil, map[string]int{"version": version})
	case "ready":
		return s.answer(CommandReady, &s.plan, nil)
	case "raw": // answers the next command with a line
		if err = s.hear("", nil); err == nil {
			_, err = fmt.Fprintln(s.answers, argument)
		}
	case "begin": // waits for the command to begin and its time
		var begin Begin
		err = s.answer(CommandBegin, &begin, nil)
		s.begun = time.Unix(0, begin.UnixNS)
		<-time.After(time.Until(s.begun))
	case "progress": // with the number of completed tasks
		n, _ := strconv.ParseUint(argument, 10, 64)
		return s.answer(CommandReport, nil, Report{Progress: load.Progress{Phase: "window", Elapsed: time.Since(s.begun), Completed: n}})
	case "window": // waits for the window's end
		<-time.After(time.Until(s.begun.Add(s.plan.Phases.Warmup + s.plan.Phases.Window)))
	case "outcome": // of a closed load; with "open", of an open one
		return s.outcome(argument == "open")
	case "hang":
		select {}
	case "child": // starts a long-running process and writes its id to a file
		cmd := exec.Command("sleep", "600")
		if err := cmd.Start(); err != nil {
			return err
		}
		return os.WriteFile(argument, []byte(strconv.Itoa(cmd.Process.Pid)), 0o600)
	case "close":
		return errors.Join(s.answers.Close(), os.NewFile(3, "").Close())
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

// hear receives a command, which must be the given one if that is not "".
func (s *standIn) hear(do string, with any) error {
	line, err := s.commands.ReadBytes('\n')
	if err != nil {
		return err
	}
	var r dialogue.Request
	if err := json.Unmarshal(line, &r); err != nil {
		return err
	}
	if s.call = r.Call; do != "" && do != r.Do {
		return fmt.Errorf("got the command %s", r.Do)
	}
	if with == nil {
		return nil
	}
	return json.Unmarshal(r.With, with)
}

func (s *standIn) answer(do string, with, done any) error {
	if err := s.hear(do, with); err != nil {
		return err
	}
	text, err := json.Marshal(done)
	if err != nil {
		return err
	}
	return json.NewEncoder(s.answers).Encode(dialogue.Answer{Call: s.call, Done: text})
}

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
	return s.answer(CommandReport, nil, Report{Outcome: encoded})
}

// planned returns a plan with short phases and a script.
func planned(t *testing.T) Plan {
	t.Helper()
	path := filepath.Join(t.TempDir(), "plan.js")
	content := []byte("export default function () {}\n")
	require.NoError(t, os.WriteFile(path, content, 0o600))
	sum := sha256.Sum256(content)
	return Plan{
		Round: 42,
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
		readyTimeout: patience, outcomeMargin: patience, exitTimeout: patience,
	}
}
