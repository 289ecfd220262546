//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/longtest"
	"github.com/pronybench/prony/engine/memory"
)

// groupLimits are the limits of a control group; 0 means no limit.
type groupLimits struct {
	memoryBytes int64
	cpuPercent  int // of one core
}

// controlGroup is a control group of a test: one folder in version 2 of control groups, one for
// each controller in version 1.
type controlGroup struct {
	*testing.T

	folders []string
	v2      bool
}

// newGroup creates a control group with limits, and skips the test if this process lacks the
// permission.
func newGroup(t *testing.T, limits groupLimits) *controlGroup {
	t.Helper()
	name := fmt.Sprintf("queued-test-%d-%s", os.Getpid(), strings.ToLower(filepath.Base(t.TempDir())))
	g := &controlGroup{T: t}
	err := g.makeV1(name, limits)
	if err != nil {
		g.remove()
		v1 := err
		g.v2 = true
		if err := g.makeV2(name, limits); err != nil {
			g.remove()
			t.Skipf("can't create control groups with memory limits here: version 1: %v; version 2: %v", v1, err)
		}
	}
	t.Cleanup(g.remove)
	return g
}

// controlGroups is the mount point of control groups.
const controlGroups = "/sys/fs/cgroup"

// cpuPeriodMicroseconds is the period of a CPU share.
const cpuPeriodMicroseconds = 100_000

func (g *controlGroup) makeV1(name string, limits groupLimits) error {
	if limits.memoryBytes > 0 {
		if err := g.makeIn(filepath.Join(controlGroups, "memory", name), "memory.limit_in_bytes", strconv.FormatInt(limits.memoryBytes, 10)); err != nil {
			return err
		}
	}
	if limits.cpuPercent > 0 {
		quota := strconv.Itoa(limits.cpuPercent * cpuPeriodMicroseconds / 100)
		if err := g.makeIn(filepath.Join(controlGroups, "cpu", name), "cpu.cfs_quota_us", quota); err != nil {
			return err
		}
	}
	return nil
}

func (g *controlGroup) makeV2(name string, limits groupLimits) error {
	folder := filepath.Join(controlGroups, name)
	if limits.memoryBytes > 0 {
		if err := g.makeIn(folder, "memory.max", strconv.FormatInt(limits.memoryBytes, 10)); err != nil {
			return err
		}
	}
	if limits.cpuPercent > 0 {
		return g.makeIn(folder, "cpu.max", fmt.Sprintf("%d %d", limits.cpuPercent*cpuPeriodMicroseconds/100, cpuPeriodMicroseconds))
	}
	return nil
}

// makeIn creates the group's folder if it does not exist, and writes a setting file of the kernel
// in it.
func (g *controlGroup) makeIn(folder, setting, value string) error {
	err := os.Mkdir(folder, 0o755)
	if err == nil {
		g.folders = append(g.folders, folder)
	} else if !errors.Is(err, os.ErrExist) {
		return err
	}
	f, err := os.OpenFile(filepath.Join(folder, setting), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}

// command returns a command that enters the group before it executes the program.
func (g *controlGroup) command(args []string) *exec.Cmd {
	script := ""
	for _, folder := range g.folders {
		script += "echo $$ >" + folder + "/cgroup.procs && "
	}
	return exec.Command("sh", append([]string{"-c", script + `exec "$@"`, "sh"}, args...)...)
}

// kills returns how many processes of the group the kernel has killed because of the limit.
func (g *controlGroup) kills() int {
	g.Helper()
	file := "memory.oom_control"
	if g.v2 {
		file = "memory.events"
	}
	text, err := os.ReadFile(filepath.Join(g.folders[0], file))
	require.NoError(g, err)
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) == 2 && fields[0] == "oom_kill" {
			n, err := strconv.Atoi(fields[1])
			require.NoError(g, err)
			return n
		}
	}
	require.Fail(g, "the system does not report how many processes it killed")
	return 0
}

// remove removes the group; its processes must have ended.
func (g *controlGroup) remove() {
	for _, folder := range g.folders {
		if err := os.Remove(folder); err != nil {
			g.Logf("remove the control group: %v", err)
		}
	}
	g.folders = nil
}

// TestDefaultMemoryIsAPartOfTheGroups starts a server with default settings in a group with less
// memory than the host has.
func TestDefaultMemoryIsAPartOfTheGroups(t *testing.T) {
	g := newGroup(t, groupLimits{memoryBytes: 1 << 30})
	p := startAs(t, g.command, "--data", t.TempDir())
	assert.Contains(t, p.log.String(), fmt.Sprintf("limit_bytes=%d", (1<<30)/100*25))
}

// groupSlack is the memory that a group needs in addition to the server's limit: the kernel counts
// socket buffers, page tables and dirty files.
const groupSlack = 24_000_000

// TestAServerInAGroupIsNotKilled attacks servers that the kernel kills when they exceed the memory
// of their group. One of the groups has only a fifth of a core.
func TestAServerInAGroupIsNotKilled(t *testing.T) {
	longtest.Only(t)
	for name, c := range map[string]struct {
		group groupLimits
		limit int64 // the server's
		args  []string
	}{
		"the default":       {groupLimits{memoryBytes: memory.Least + groupSlack}, memory.Least, nil},
		"200 MB":            {groupLimits{memoryBytes: memoryLimit + groupSlack}, memoryLimit, memoryArguments()},
		"a fifth of a core": {groupLimits{memoryBytes: memoryLimit + groupSlack, cpuPercent: 20}, memoryLimit, memoryArguments()},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGroup(t, c.group)
			p := startAs(t, g.command, append([]string{"--data", t.TempDir(), "--http", "127.0.0.1:0"}, c.args...)...)
			a := &attacked{process: p, secret: p.token()}
			a.endure(c.limit, allAttacks)
			assert.Zero(t, g.kills(), "%s", p.log)
		})
	}
}
