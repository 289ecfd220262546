package topology

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A harness that is killed cannot clean up; its server must not outlive it all the same.
func TestServerDiesWithAKilledHarness(t *testing.T) {
	executable, err := os.Executable()
	require.NoError(t, err)
	dir := t.TempDir()
	harness := exec.Command(executable, dir)
	harness.Env = append(os.Environ(), helperMode+"=harness", helperPID+"=")
	harness.Stderr = os.Stderr
	stdout, err := harness.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, harness.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil || line != "started\n" {
		_ = harness.Process.Kill()
		_ = harness.Wait()
		require.Fail(t, "the harness did not start its server", "%q %v", line, err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "pid"))
	require.NoError(t, err)
	pid, err := strconv.Atoi(string(text))
	require.NoError(t, err)
	require.False(t, ended(pid))

	require.NoError(t, harness.Process.Kill())
	require.Error(t, harness.Wait())
	require.Eventually(t, func() bool { return ended(pid) }, wait, tick, "process %d is left", pid)
}

// ended tells whether a process is gone, or dead and not yet reaped by whoever inherited it.
func ended(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return true
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(state, "Z") || strings.HasPrefix(state, "X")
}
