package dialogue

import (
	"bufio"
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
	in := bufio.NewReader(os.Stdin)
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
	case "stays":
		if err := say(`{"call":1,"done":{}}` + "\n"); err != nil {
			return err
		}
		<-time.After(10 * time.Minute)
	}
	commands := func(context.Context) Commands {
		return Commands{
			"double": Do(func(_ context.Context, n int) (int, error) { return 2 * n, nil }),
			"fail":   Do(func(context.Context, None) (None, error) { return None{}, errors.New("not today") }),
			"hang": Do(func(ctx context.Context, _ None) (None, error) {
				<-ctx.Done()
				return None{}, context.Cause(ctx)
			}),
			"end": Do(func(context.Context, None) (string, error) { return "bye", nil }),
		}
	}
	return Serve(context.Background(), in, os.Stdout, commands, func(do string, _ error) (bool, error) { return do == "end", nil })
}

func start(t *testing.T, act string) *Process {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	p, err := Start("helper", Command{Binary: self, Env: []string{actEnv + "=" + act}, LogPath: filepath.Join(t.TempDir(), "log")})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.Kill()) })
	return p
}

func TestCommandsAreAnswered(t *testing.T) {
	p := start(t, "")
	var n int
	require.NoError(t, p.Call(t.Context(), time.Minute, "double", 21, &n))
	assert.Equal(t, 42, n)
	require.EqualError(t, p.Call(t.Context(), time.Minute, "fail", nil, nil), "helper: fail: not today")
	require.ErrorContains(t, p.Call(t.Context(), time.Minute, "double", "x", nil), "helper: double: read the arguments: ")
	require.EqualError(t, p.Call(t.Context(), time.Minute, "sing", nil, nil), `helper: unknown command "sing"; it must be one of double, end, fail, hang`)
	require.ErrorContains(t, p.Call(t.Context(), time.Minute, "double", 1, new(string)), "helper: read the answer to double: ")
	var said string
	require.NoError(t, p.End(t.Context(), time.Minute, "end", &said))
	assert.Equal(t, "bye", said)
	require.EqualError(t, p.Call(t.Context(), time.Minute, "double", 1, nil), "helper: already ended")
}

func TestAProcessThatBreaksTheRules(t *testing.T) {
	p := start(t, "dies")
	err := p.Call(t.Context(), time.Minute, "double", 1, nil)
	require.ErrorContains(t, err, "the process ended early: exit status 3")
	require.ErrorContains(t, err, "out of memory")

	p = start(t, "answers nonsense")
	require.ErrorContains(t, p.Call(t.Context(), time.Minute, "double", 1, nil), `helper: double: malformed answer "nonsense"`)
	require.ErrorContains(t, p.Call(t.Context(), time.Minute, "double", 1, nil), "nonsense", "no further command is sent")

	p = start(t, "answers twice")
	var n int
	require.NoError(t, p.Call(t.Context(), time.Minute, "double", 1, &n))
	require.EqualError(t, p.Call(t.Context(), time.Minute, "double", 5, &n), "helper: double: got the answer to call 1, expected call 2")

	p = start(t, "hang")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, p.Call(ctx, time.Minute, "hang", nil, nil), context.Canceled)

	p = start(t, "stays")
	ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.Error(t, p.End(ctx, time.Minute, "end", nil))
	require.Equal(t, "signal: killed", p.Status())

	_, err = Start("helper", Command{Binary: filepath.Join(t.TempDir(), "none"), LogPath: filepath.Join(t.TempDir(), "log")})
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "start the helper: ")
}
