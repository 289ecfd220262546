package proc

import (
	"bufio"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A killed harness cannot clean up. Its child processes must end anyway.
func TestProcessDiesWithAKilledHarness(t *testing.T) {
	harness := exec.Command(itself(t), "parent", "hang")
	stdout, err := harness.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, harness.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	pid, numErr := strconv.Atoi(strings.TrimSpace(line))
	if err != nil || numErr != nil {
		_ = harness.Process.Kill()
		_ = harness.Wait()
		require.Fail(t, "the harness did not start its process", "%q %v", line, err)
	}
	require.False(t, gone(t, pid))

	require.NoError(t, harness.Process.Kill())
	require.Error(t, harness.Wait())
	require.Eventually(t, func() bool { return gone(t, pid) }, patience, tick, "process %d is left", pid)
}
