package observe

import (
	"bufio"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A shell with a running child that has waited for another child, which used CPU time.
func TestTree(t *testing.T) {
	cmd := exec.Command("sh", "-c", `(i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done); sleep 600 & echo $!; wait`)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	child, err := strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, syscall.Kill(child, syscall.SIGKILL))
		_ = cmd.Wait()
	})
	root := cmd.Process.Pid
	tree, err := TreeOf([]int{root, 1 << 30})
	require.NoError(t, err)
	assert.Equal(t, []int{root, child}, tree.PIDs())
	used, err := tree.Sample()
	require.NoError(t, err)
	own, err := ProcessCPU(root)
	require.NoError(t, err)
	assert.Greater(t, used.CPU, own+10*time.Millisecond, "including the ended child")
	both, now, err := tree.Memory()
	require.NoError(t, err)
	assert.True(t, now)
	assert.NotZero(t, both)
	peak, now, err := Tree{[]int{root}}.Memory()
	require.NoError(t, err)
	assert.False(t, now)
	assert.NotZero(t, peak)
	over := exec.Command("true")
	require.NoError(t, over.Start())
	require.Eventually(t, func() bool {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(over.Process.Pid) + "/stat")
		return err == nil && strings.Contains(string(stat), ") Z ")
	}, time.Minute, time.Millisecond)
	_, _, err = Tree{[]int{root, over.Process.Pid}}.Memory()
	require.NoError(t, err, "with a zombie process")
	require.NoError(t, over.Wait())
	_, _, err = Tree{[]int{root, over.Process.Pid}}.Memory()
	require.NoError(t, err, "with an ended process")
	none, err := TreeOf([]int{1 << 30})
	require.NoError(t, err)
	assert.Empty(t, none.PIDs())
}
