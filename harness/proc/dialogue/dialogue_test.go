package dialogue

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/pronybench/prony/engine/golden"
)

// actEnv makes the test binary act as a process that executes commands. Its value selects a regular
// process or a fault.
const actEnv = "DIALOGUE_TEST"

func TestMain(m *testing.M) {
	act, is := os.LookupEnv(actEnv)
	if !is {
		goleak.VerifyTestMain(m)
		return
	}
	if err := serve(act); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
}

func serve(act string) error {
	in, out := bufio.NewReader(os.Stdin), os.Stdout
	say := func(lines string) error {
		if _, err := in.ReadString('\n'); err != nil {
			return err
		}
		_, err := fmt.Print(lines)
		return err
	}
	switch act {
	case "dies":
		return errors.New("out of memory")
	case "answers twice":
		if err := say(`{"call":1,"done":1}` + "\n" + `{"call":1,"done":2}` + "\n"); err != nil {
			return err
		}
	case "answers nonsense":
		if err := say("nonsense\n"); err != nil {
			return err
		}
	case "another version":
		if err := say(`{"call":1,"done":{"version":9}}` + "\n"); err != nil {
			return err
		}
	case "answers too long":
		if err := say(strings.Repeat("x", LineBytesMax+1)); err != nil {
			return err
		}
		<-time.After(10 * time.Minute)
	case "stays":
		if err := say(`{"call":1,"done":{}}` + "\n"); err != nil {
			return err
		}
		<-time.After(10 * time.Minute)
	case "cleans up":
		ended := make(chan os.Signal, 1)
		signal.Notify(ended, syscall.SIGTERM)
		if err := say(`{"call":1,"done":{}}` + "\n"); err != nil {
			return err
		}
		fmt.Fprintln(os.Stderr, "got", <-ended)
		return nil
	case "ignores the end":
		signal.Ignore(syscall.SIGTERM)
		if err := say(`{"call":1,"done":{}}` + "\n"); err != nil {
			return err
		}
		<-time.After(10 * time.Minute)
	case "prints":
		fmt.Println("a summary")
		var err error
		if out, err = os.OpenFile(AnswersPath, os.O_WRONLY, 0); err != nil {
			return err
		}
	}
	commands := func(context.Context) Commands {
		return Commands{
			CommandHello: Hello(2),
			"double":     Do(func(_ context.Context, n int) (int, error) { return 2 * n, nil }),
			"fail":       Do(func(context.Context, None) (None, error) { return None{}, errors.New("not today") }),
			"hang": Do(func(ctx context.Context, _ None) (None, error) {
				<-ctx.Done()
				return None{}, context.Cause(ctx)
			}),
			"secret": Do(func(context.Context, None) (string, error) { return os.Getenv("HELPER_SECRET"), nil }),
			"end":    Do(func(context.Context, None) (string, error) { return "bye", nil }),
		}
	}
	return Serve(context.Background(), in, out, commands, func(do string, _ error) (bool, error) { return do == "end", nil })
}

func start(t *testing.T, act string) *Process {
	t.Helper()
	return startWith(t, Command{Env: []string{actEnv + "=" + act}})
}

// startWith completes a command and starts it.
func startWith(t *testing.T, c Command) *Process {
	t.Helper()
	var err error
	c.Binary, err = os.Executable()
	require.NoError(t, err)
	c.LogPath = filepath.Join(t.TempDir(), "log")
	p, err := Start("helper", c)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.Kill()) })
	return p
}

func TestCommandsAreAnswered(t *testing.T) {
	p := start(t, "")
	s := golden.Cases(t, "testdata/answers.golden")
	s.Replace(p.logPath, "LOG")
	var n int
	require.NoError(t, p.Call(t.Context(), time.Minute, "double", 21, &n))
	assert.Equal(t, 42, n)
	s.Error(t, "fail", p.Call(t.Context(), time.Minute, "fail", nil, nil))
	s.Error(t, "other arguments", p.Call(t.Context(), time.Minute, "double", "x", nil))
	s.Error(t, "unknown", p.Call(t.Context(), time.Minute, "sing", nil, nil))
	s.Error(t, "another answer", p.Call(t.Context(), time.Minute, "double", 1, new(string)))
	var said string
	require.NoError(t, p.End(t.Context(), time.Minute, "end", &said))
	assert.Equal(t, "bye", said)
	s.Error(t, "after the end", p.Call(t.Context(), time.Minute, "double", 1, nil))
}

func TestStopLetsAProcessCleanUp(t *testing.T) {
	p := start(t, "cleans up")
	require.NoError(t, p.Call(t.Context(), time.Minute, "hello", nil, nil))
	require.NoError(t, p.Stop(time.Minute))
	log, err := os.ReadFile(p.logPath)
	require.NoError(t, err)
	assert.Contains(t, string(log), "got terminated")
}

func TestStopKillsAProcessThatStays(t *testing.T) {
	p := start(t, "ignores the end")
	require.NoError(t, p.Call(t.Context(), time.Minute, "hello", nil, nil))
	require.NoError(t, p.Stop(time.Millisecond))
	assert.Equal(t, "signal: killed", p.Status())
}

func TestAProcessThatBreaksTheRules(t *testing.T) {
	s := golden.Cases(t, "testdata/rules.golden")
	p := start(t, "dies")
	err := p.Call(t.Context(), time.Minute, "double", 1, nil)
	s.Replace(p.logPath, "LOG")
	s.Error(t, "dies", err)

	p = start(t, "answers nonsense")
	s.Replace(p.logPath, "LOG")
	err = p.Call(t.Context(), time.Minute, "double", 1, nil)
	s.Error(t, "answers nonsense", err)
	s.Error(t, "no further command is sent", p.Call(t.Context(), time.Minute, "double", 1, nil))

	p = start(t, "answers too long")
	s.Replace(p.logPath, "LOG")
	s.Error(t, "answers too long", p.Call(t.Context(), time.Minute, "double", 1, nil))

	p = start(t, "answers twice")
	var n int
	require.NoError(t, p.Call(t.Context(), time.Minute, "double", 1, &n))
	s.Replace(p.logPath, "LOG")
	s.Error(t, "answers twice", p.Call(t.Context(), time.Minute, "double", 5, &n))

	p = start(t, "hang")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, p.Call(ctx, time.Minute, "hang", nil, nil), context.Canceled)

	p = start(t, "stays")
	ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.Error(t, p.End(ctx, time.Minute, "end", nil))
	require.Equal(t, "signal: killed", p.Status())

	none := filepath.Join(t.TempDir(), "none")
	_, err = Start("helper", Command{Binary: none, LogPath: filepath.Join(t.TempDir(), "log")})
	require.ErrorIs(t, err, os.ErrNotExist)
	s.Replace(none, "BINARY")
	s.Error(t, "no binary", err)
}

func TestVersionsAreCompared(t *testing.T) {
	s := golden.Cases(t, "testdata/versions.golden")
	p := start(t, "")
	require.NoError(t, p.Hello(t.Context(), time.Minute, 2))
	require.NoError(t, p.End(t.Context(), time.Minute, "end", nil))

	p = start(t, "")
	s.Replace(p.logPath, "LOG")
	s.Error(t, "of the harness", p.Hello(t.Context(), time.Minute, 3))
	require.NoError(t, p.Wait(t.Context(), time.Minute), "the program has ended")
	assert.Equal(t, 3, p.ExitCode())

	p = start(t, "another version")
	s.Replace(p.logPath, "LOG")
	s.Error(t, "of the program", p.Hello(t.Context(), time.Minute, 2))
}

// A process with an output may print what it likes.
func TestAProcessThatPrints(t *testing.T) {
	t.Setenv("HELPER_SECRET", "x")
	output := filepath.Join(t.TempDir(), "output")
	p := startWith(t, Command{Env: []string{actEnv + "=prints"}, Without: []string{"HELPER_"}, OutputPath: output})
	var n int
	require.NoError(t, p.Call(t.Context(), time.Minute, "double", 4, &n))
	assert.Equal(t, 8, n)
	var secret string
	require.NoError(t, p.Call(t.Context(), time.Minute, "secret", nil, &secret))
	assert.Empty(t, secret, "it is not passed on")
	require.NoError(t, p.End(t.Context(), time.Minute, "end", nil))
	text, err := os.ReadFile(output)
	require.NoError(t, err)
	assert.Equal(t, "a summary\n", string(text))

	_, err = Start("helper", Command{Binary: "/bin/true", LogPath: filepath.Join(t.TempDir(), "log"), OutputPath: filepath.Join(t.TempDir(), "none", "output")})
	require.ErrorIs(t, err, os.ErrNotExist)
}

// The error of a late answer shows the status and the log of the process.
func TestALateAnswer(t *testing.T) {
	p := start(t, "hang")
	late := errors.New("too late")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, late)
	defer cancel()
	err := p.Call(ctx, time.Minute, "hang", nil, nil)
	require.ErrorIs(t, err, late)
	s := golden.Cases(t, "testdata/late.golden")
	s.Replace(p.logPath, "LOG")
	s.Error(t, "call", err)
	s.Error(t, "end", p.Wait(t.Context(), time.Millisecond))
}
