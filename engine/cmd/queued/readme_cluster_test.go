package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ownLoopback returns a loopback address on which no other program listens: the ports of the README
// are fixed.
func ownLoopback(t *testing.T) string {
	t.Helper()
	address := fmt.Sprintf("127.%d.%d.%d", 1+rand.N(254), rand.N(256), 1+rand.N(254))
	l, err := net.Listen("tcp", address+":0")
	if err != nil {
		t.Skipf("this system has one loopback address only: %v", err)
	}
	require.NoError(t, l.Close())
	return address
}

// The README's block for three nodes starts a cluster with a leader when it is pasted unchanged.
func TestTheReadmesThreeNodesRun(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(text), "### Three nodes by hand\n")
	require.True(t, found)
	block := regexp.MustCompile("(?s)```sh\n(.*?)```").FindStringSubmatch(section)
	require.NotNil(t, block)
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "bin"), 0o755))
	require.NoError(t, os.Symlink(binary, filepath.Join(dir, "bin", "queued")))
	script := strings.ReplaceAll(block[1], "127.0.0.1", ownLoopback(t)) + `
status=$?
bin/queued enqueue --queue mail hello >enqueued || status=$?
kill $(jobs -p)
wait
exit $status
`
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	command := exec.CommandContext(ctx, "bash", "-c", script)
	command.Dir = dir
	command.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}
	// So that the test can end the servers too if the script hangs.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	command.WaitDelay = time.Second
	var out, log bytes.Buffer
	command.Stdout, command.Stderr = &out, &log
	require.NoError(t, command.Run(), "%s%s", out.String(), log.String())
	for _, id := range clusterNodes {
		assert.Regexp(t, `(?m)^`+id+` +voter +yes +`, out.String())
	}
	assert.Regexp(t, `(?m)^0 +n[123] +\d+ `, out.String(), "shard 0 has a leader")
	enqueued, err := os.ReadFile(filepath.Join(dir, "enqueued"))
	require.NoError(t, err)
	assert.NotEmpty(t, enqueued)
	assert.Equal(t, 3, strings.Count(log.String(), "msg=stopped"), "%s", log.String())
}
