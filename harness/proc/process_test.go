package proc

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// started starts a process that takes steps, and returns a reader of its output lines.
func started(t *testing.T, steps ...string) (*Process, *bufio.Reader) {
	t.Helper()
	return startedWith(t, Settings{}, steps...)
}

// startedWith is started with settings.
func startedWith(t *testing.T, s Settings, steps ...string) (*Process, *bufio.Reader) {
	t.Helper()
	return startedSo(t, s, itself(t), steps...)
}

// startedAs is started under another name of the test binary.
func startedAs(t *testing.T, name string, steps ...string) (*Process, *bufio.Reader) {
	t.Helper()
	return startedSo(t, Settings{}, name, steps...)
}

func startedSo(t *testing.T, s Settings, name string, steps ...string) (*Process, *bufio.Reader) {
	t.Helper()
	said, stdout, err := os.Pipe()
	require.NoError(t, err)
	cmd := exec.Command(name, steps...)
	cmd.Stdout, cmd.Stderr = stdout, os.Stderr
	p, err := StartWith(s, cmd)
	require.NoError(t, stdout.Close())
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, p.Kill())
		require.NoError(t, said.Close())
	})
	return p, bufio.NewReader(said)
}

func line(t *testing.T, from *bufio.Reader) string {
	t.Helper()
	text, err := from.ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSpace(text)
}

func TestProcessThatRuns(t *testing.T) {
	t.Parallel()
	p, said := started(t, "obey 0")
	line(t, said)
	group, err := syscall.Getpgid(p.PID())
	require.NoError(t, err)
	assert.Equal(t, p.PID(), group, "Ctrl-C in the harness's terminal must not reach the process")
	assert.False(t, p.Ended())
	assert.False(t, p.Orderly(), "a running process has no result")
	assert.Equal(t, "running", p.Status())
	assert.Equal(t, -1, p.ExitCode())
	assert.Zero(t, p.CPU())
	require.NoError(t, p.Err())
}

// A process gets its CPUs before it starts threads, and no other process is restricted.
func TestProcessOnSomeCPUs(t *testing.T) {
	t.Parallel()
	var before, after unix.CPUSet
	require.NoError(t, unix.SchedGetaffinity(0, &before))
	last := 0
	for cpu := range 64 * len(before) {
		if before.IsSet(cpu) {
			last = cpu
		}
	}
	allowed := func(p *Process) string {
		status, err := os.ReadFile("/proc/" + strconv.Itoa(p.PID()) + "/status")
		require.NoError(t, err)
		_, list, _ := strings.Cut(string(status), "Cpus_allowed_list:")
		list, _, _ = strings.Cut(list, "\n")
		return strings.TrimSpace(list)
	}
	confined := exec.Command(itself(t), "hang")
	p, err := StartWith(Settings{CPUs: []int{last}}, confined)
	require.NoError(t, err)
	assert.Equal(t, strconv.Itoa(last), allowed(p))
	free, said := started(t, "obey 0")
	line(t, said)
	require.NoError(t, unix.SchedGetaffinity(free.PID(), &after))
	assert.Equal(t, before, after)
	require.NoError(t, p.Kill())

	_, err = StartWith(Settings{CPUs: []int{64*len(before) - 1}}, exec.Command(itself(t), "hang"))
	require.ErrorContains(t, err, "restrict it to the CPUs [1023]")
	require.NoError(t, unix.SchedGetaffinity(0, &after))
	assert.Equal(t, before, after)
}

func TestProcessThatEnded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		steps   []string
		status  string
		code    int
		orderly bool
	}{
		"in order":   {[]string{"work"}, "exit status 0", 0, true},
		"in error":   {[]string{"work", "exit 3"}, "exit status 3", 3, false},
		"by a crash": {[]string{"work", "hang"}, "signal: killed", -1, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, said := started(t, slices.Concat([]string{"stubborn"}, c.steps)...)
			line(t, said)
			if c.code < 0 {
				require.NoError(t, p.Kill())
			}
			select {
			case <-p.Done():
			case <-time.After(patience):
				require.Fail(t, "the process has not ended")
			}
			assert.True(t, p.Ended())
			assert.Equal(t, c.status, p.Status())
			assert.Equal(t, c.code, p.ExitCode())
			assert.Equal(t, c.orderly, p.Orderly())
			require.NoError(t, p.Err(), "the status describes the whole end")
			if c.code >= 0 {
				assert.GreaterOrEqual(t, p.CPU(), 20*time.Millisecond)
			}
			assert.NoDirExists(t, "/proc/"+strconv.Itoa(p.PID()), "the process was reaped")
			require.NoError(t, p.Signal(syscall.SIGTERM))
			require.NoError(t, p.Kill())
			require.NoError(t, p.End(0))
			assert.Equal(t, c.status, p.Status())
		})
	}
}

// The processes that a process started end with it, however it ends.
func TestNothingOfAGroupIsLeft(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		last string
		end  func(*Process) error
	}{
		"ends by itself": {"exit 0", func(p *Process) error { <-p.Done(); return p.Err() }},
		"is killed":      {"hang", (*Process).Kill},
		"is ended":       {"obey 0", func(p *Process) error { return p.End(patience) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, said := started(t, "child", c.last)
			child, err := strconv.Atoi(line(t, said))
			require.NoError(t, err)
			require.NoError(t, c.end(p))
			require.Eventually(t, func() bool { return gone(t, child) }, patience, tick)
		})
	}
}

func TestEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		step   string
		grace  time.Duration
		status string
	}{
		"it obeys":      {"obey 7", patience, "exit status 7"},
		"it is ignored": {"stubborn", 20 * time.Millisecond, "signal: killed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, said := started(t, c.step, "hang")
			line(t, said)
			require.NoError(t, p.End(c.grace))
			assert.Equal(t, c.status, p.Status())
		})
	}
}

// A stopped process gets SIGTERM when it continues.
func TestEndOfAStoppedProcess(t *testing.T) {
	t.Parallel()
	p, said := started(t, "obey 7")
	line(t, said)
	require.NoError(t, p.Signal(syscall.SIGSTOP))
	require.NoError(t, p.End(patience))
	assert.Equal(t, "exit status 7", p.Status())
}

func TestProgramThatCannotBeStarted(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "missing")
	p, err := Start(exec.Command(missing))
	require.ErrorContains(t, err, "start "+missing)
	require.ErrorIs(t, err, os.ErrNotExist)
	assert.Nil(t, p)
}

// Without an exit status only the error describes the end of a process.
func TestProcessWithoutAStatus(t *testing.T) {
	t.Parallel()
	p := &Process{cmd: &exec.Cmd{}, done: make(chan struct{}), err: errors.New("no child processes")}
	close(p.done)
	require.ErrorIs(t, p.Err(), p.err)
	assert.Equal(t, "unknown", p.Status())
	assert.Equal(t, -1, p.ExitCode())
	assert.False(t, p.Orderly())
	assert.Zero(t, p.CPU())
}

func TestEnviron(t *testing.T) {
	for _, name := range []string{"PROGRAM_A", "PROGRAM_B", "PROGRAMME", "OTHER_PROGRAM_A"} {
		t.Setenv(name, "17")
	}
	got := Environ("PROGRAM_", "PROGRAM=")
	assert.NotContains(t, got, "PROGRAM_A=17")
	assert.NotContains(t, got, "PROGRAM_B=17")
	assert.Contains(t, got, "PROGRAMME=17")
	assert.Contains(t, got, "OTHER_PROGRAM_A=17")
	assert.Equal(t, os.Environ(), Environ())
}
