package observe

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/pronybench/prony/engine/golden"
)

type child struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	lines *bufio.Scanner
}

func startChild(t *testing.T) *child {
	t.Helper()
	executable, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(executable)
	cmd.Env = append(os.Environ(), helperEnv+"=1")
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	c := &child{cmd: cmd, stdin: stdin, lines: bufio.NewScanner(stdout)}
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	c.expect(t, "ready")
	return c
}

func (c *child) expect(t *testing.T, line string) {
	t.Helper()
	require.True(t, c.lines.Scan(), "the helper ended: %v", c.lines.Err())
	require.Equal(t, line, c.lines.Text())
}

func (c *child) burn(t *testing.T) {
	t.Helper()
	_, err := c.stdin.Write([]byte{1})
	require.NoError(t, err)
	c.expect(t, "burnt")
}

func (c *child) end(t *testing.T) time.Duration {
	t.Helper()
	require.NoError(t, c.stdin.Close())
	require.NoError(t, c.cmd.Wait())
	return c.cmd.ProcessState.UserTime() + c.cmd.ProcessState.SystemTime()
}

func TestProcessCPUOfAChildRisesByWhatItBurns(t *testing.T) {
	c := startChild(t)
	before, err := Sample(c.cmd.Process.Pid)
	require.NoError(t, err)
	fallbackBefore, err := statCPU(c.cmd.Process.Pid)
	require.NoError(t, err)
	c.burn(t)
	after, err := Sample(c.cmd.Process.Pid)
	require.NoError(t, err)
	fallbackAfter, err := statCPU(c.cmd.Process.Pid)
	require.NoError(t, err)

	spent := after.Since(before)
	assert.GreaterOrEqual(t, spent.CPU, burnFor*9/10)
	assert.Positive(t, spent.Wall)
	assert.True(t, spent.Switches.Known)
	assert.NotZero(t, after.CPU%time.Millisecond, "/proc would return whole milliseconds")
	// /proc counts hundredths of a second, so it may lag by one unit of user and one unit of system
	// time.
	assert.GreaterOrEqual(t, fallbackAfter-fallbackBefore, burnFor*9/10-20*time.Millisecond)

	rusage := c.end(t)
	assert.GreaterOrEqual(t, rusage+20*time.Millisecond, after.CPU, "the clock of the process cannot exceed its total usage")
	assert.InDelta(t, rusage.Seconds(), after.CPU.Seconds(), 0.5*rusage.Seconds())
}

func TestProcessCPUCountsNanosecondsOfThisProcess(t *testing.T) {
	before, err := ProcessCPU(os.Getpid())
	require.NoError(t, err)
	burn(20 * time.Millisecond)
	after, err := ProcessCPU(os.Getpid())
	require.NoError(t, err)
	assert.GreaterOrEqual(t, after-before, 15*time.Millisecond)
	assert.NotZero(t, after%time.Millisecond, "/proc would return whole milliseconds")
}

func TestProcessOfAnEndedChildIsAnError(t *testing.T) {
	c := startChild(t)
	pid := c.cmd.Process.Pid
	c.end(t)
	s := golden.Cases(t, "testdata/ended.golden")
	s.Replace(strconv.Itoa(pid), "PID")
	_, err := ProcessCPU(pid)
	s.Error(t, "CPU time", err)
	_, err = PeakRSS(pid)
	s.Error(t, "peak memory", err)
	s.Error(t, "reset of the peak", ResetPeak(pid))
	for _, pid := range []int{0, -1} {
		_, err = ProcessCPU(pid)
		s.Error(t, fmt.Sprint("CPU time of ", pid), err)
	}
}

func TestPeakRSSRemembersReleasedMemoryUntilReset(t *testing.T) {
	c := startChild(t)
	peak, err := PeakRSS(c.cmd.Process.Pid)
	require.NoError(t, err)
	assert.GreaterOrEqual(t, peak, uint64(helperBytes))

	require.NoError(t, ResetPeak(c.cmd.Process.Pid))
	reset, err := PeakRSS(c.cmd.Process.Pid)
	require.NoError(t, err)
	assert.Less(t, reset, peak-helperBytes/2)
	c.end(t)
}

func TestCPUMicrosecondsPerCycle(t *testing.T) {
	at := time.Now()
	spent := Usage{CPU: 3 * time.Second, At: at.Add(2 * time.Second)}.Since(Usage{CPU: time.Second, At: at})
	assert.Equal(t, Spent{CPU: 2 * time.Second, Wall: 2 * time.Second}, spent)
	perCycle, err := spent.CPUMicrosecondsPer(80000)
	require.NoError(t, err)
	assert.InDelta(t, 25, perCycle, 1e-9)
	_, err = spent.CPUMicrosecondsPer(0)
	golden.Cases(t, "testdata/percycle.golden").Error(t, "no cycle", err)
}

// A count is known only if both readings are, and if it did not fall, as after a restart.
func TestCountsOfAProcessInAPeriod(t *testing.T) {
	read := func(n uint64) Count { return Count{N: n, Known: true} }
	before := Usage{Written: read(10), Switches: read(3)}
	spent := Usage{Written: read(30), Switches: read(8)}.Since(before)
	assert.Equal(t, Spent{Written: read(20), Switches: read(5)}, spent)
	assert.Equal(t, Spent{Written: read(40), Switches: read(10)}, spent.Plus(spent))
	for _, after := range []Usage{{}, {Written: read(9), Switches: read(2)}} {
		assert.Equal(t, Spent{}, after.Since(before))
		assert.Equal(t, Spent{Written: Count{N: 20}, Switches: Count{N: 5}}, spent.Plus(after.Since(before)))
	}
	perCycle, known := spent.Switches.PerCycle(10)
	assert.True(t, known)
	assert.InDelta(t, 0.5, perCycle, 0)
	for c, cycles := range map[Count]uint64{spent.Switches: 0, {N: 5}: 10} {
		_, known := c.PerCycle(cycles)
		assert.False(t, known)
	}
}

func TestRSS(t *testing.T) {
	before, err := RSS(os.Getpid())
	require.NoError(t, err)
	held, err := unix.Mmap(-1, 0, 64<<20, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	require.NoError(t, err)
	for i := 0; i < len(held); i += os.Getpagesize() {
		held[i] = 1
	}
	after, err := RSS(os.Getpid())
	require.NoError(t, err)
	assert.Greater(t, after, before+32<<20, "touched pages are resident")
	require.NoError(t, unix.Munmap(held))
	_, err = RSS(1<<22 + 1) // exceeds the largest process id
	require.Error(t, err)
}

func TestCores(t *testing.T) {
	cores, err := Spent{CPU: time.Second, Wall: 4 * time.Second}.Cores()
	require.NoError(t, err)
	assert.InDelta(t, 0.25, cores, 1e-12)
	_, err = Spent{CPU: time.Second}.Cores()
	require.Error(t, err)
}
