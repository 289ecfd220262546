package child

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// forks is a server that forks a process into a new session, as PostgreSQL does, and writes the ids
// of both to a file.
func forks(folder string) Program {
	file := filepath.Join(folder, "pids")
	return Program{
		Name: "forks", Command: []string{"sh", "-c", `setsid sleep 1000 & echo $$ $! >pids.new; mv pids.new pids; wait`},
		Serves: func(context.Context) error {
			_, err := os.Stat(file)
			return err
		},
	}
}

func pidsIn(t *testing.T, folder string) (pids []int) {
	text, err := os.ReadFile(filepath.Join(folder, "pids"))
	require.NoError(t, err)
	for _, field := range strings.Fields(string(text)) {
		pid, err := strconv.Atoi(field)
		require.NoError(t, err)
		pids = append(pids, pid)
	}
	return pids
}

func TestKillEndsWhatAServerForked(t *testing.T) {
	for name, end := range map[string]func(*Servers, context.Context) error{"kill": (*Servers).Kill, "stop": (*Servers).Stop} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			s, err := Start(t.Context(), folder, forks(folder))
			require.NoError(t, err)
			pids := pidsIn(t, folder)
			require.Len(t, pids, 2)
			assert.Equal(t, pids[:1], s.PIDs())
			require.ErrorContains(t, s.Restart(t.Context()), "they are running")
			require.NoError(t, end(s, t.Context()))
			for _, pid := range pids {
				assert.False(t, alive(pid), "process %d is left", pid)
			}
			assert.Nil(t, s.PIDs())

			require.NoError(t, os.Remove(filepath.Join(folder, "pids")))
			require.NoError(t, s.Restart(t.Context()))
			assert.NotEqual(t, pids, pidsIn(t, folder))
			require.NoError(t, s.Stop(t.Context()))
			require.NoError(t, s.Stop(t.Context()), "a second stop does nothing")
			require.ErrorContains(t, s.Kill(t.Context()), "none runs")
		})
	}
}

func TestAServerThatDoesNotServeIsAnErrorWithItsLog(t *testing.T) {
	never := func(context.Context) error { return errors.New("not yet") }
	_, err := Start(t.Context(), t.TempDir(), Program{Name: "ends", Command: []string{"sh", "-c", "echo no such option; exit 3"}, Serves: never})
	require.ErrorContains(t, err, "ends ended before it served: exit status 3")
	require.ErrorContains(t, err, "no such option")

	// The first server also ends if the second one fails.
	folder := t.TempDir()
	_, err = Start(t.Context(), folder, forks(folder), Program{Name: "absent", Command: []string{filepath.Join(folder, "absent")}})
	require.ErrorContains(t, err, "absent")

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = Start(ctx, t.TempDir(), Program{Name: "waits", Command: []string{"sleep", "1000"}, Serves: never})
	require.ErrorContains(t, err, "waits does not serve: not yet")
}

func TestHelpersAreNotCounted(t *testing.T) {
	folder := t.TempDir()
	s, err := Start(t.Context(), folder, Program{Name: "helper", Helper: true, Command: []string{"sleep", "1000"}}, forks(folder))
	require.NoError(t, err)
	assert.Equal(t, pidsIn(t, folder)[:1], s.PIDs())
	require.NoError(t, s.Stop(t.Context()))
	assert.ErrorIs(t, syscall.Kill(pidsIn(t, folder)[0], 0), syscall.ESRCH)
}

func TestFindSaysWhatToDo(t *testing.T) {
	_, err := Find("no-such-server")
	require.EqualError(t, err, "no-such-server is not installed: run ci/peers.sh")
	path, err := Find("no-such-server", "/bin/s[h]")
	require.NoError(t, err)
	assert.Equal(t, "/bin/sh", path)
	_, err = Version(t.Context(), `v(\d+)`, "sh", "-c", "echo none")
	require.ErrorContains(t, err, `it answered "none\n"`)
}
