package observe

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func put(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text+"\n"), 0o600))
	}
}

// statLine returns /proc/stat of two CPUs, in hundredths of a second.
func statLine(user, nice, system, idle, iowait, irq, softirq, steal int) string {
	return fmt.Sprintf("cpu  %d %d %d %d %d %d %d %d 50 0\ncpu0 1 0 0 1 0 0 0 0 0 0\nintr 0\nbtime 1\nprocesses 1\nprocs_running 1",
		user, nice, system, idle, iowait, irq, softirq, steal)
}

func stalledLine(us int) string {
	return fmt.Sprintf("some avg10=0.00 avg60=1.00 avg300=2.00 total=%d\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7", us)
}

const cpuinfo = "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Some CPU\ncpu MHz\t\t: %g\nflags\t\t: fpu aperfmperf\n\nprocessor\t: 1\nvendor_id\t: GenuineIntel\nmodel name\t: Some CPU\ncpu MHz\t\t: %g\nflags\t\t: fpu aperfmperf\n"

// inGroups makes process 1 the reading process of a tree, with the given lines of cgroup and
// mountinfo.
func inGroups(t *testing.T, root, groups, mounts string) {
	t.Helper()
	put(t, root, map[string]string{"proc/1/cgroup": groups, "proc/1/mountinfo": mounts})
	require.NoError(t, os.Symlink("1", filepath.Join(root, "proc/self")))
}

// unifiedHost is a host with all signals, whose process is in the version 2 group /job/step.
func unifiedHost(t *testing.T) (root string) {
	t.Helper()
	root = t.TempDir()
	inGroups(t, root, "0::/job/step", "30 20 0:26 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup rw")
	put(t, root, map[string]string{
		"proc/stat":                            statLine(1000, 0, 500, 8000, 0, 10, 90, 400),
		"proc/pressure/cpu":                    stalledLine(1_000_000),
		"proc/pressure/io":                     stalledLine(2_000_000),
		"proc/pressure/memory":                 stalledLine(0),
		"proc/cpuinfo":                         fmt.Sprintf(cpuinfo, 3000.0, 1500.0),
		"sys/fs/cgroup/cgroup.controllers":     "cpu",
		"sys/fs/cgroup/cpu.stat":               "usage_usec 5",
		"sys/fs/cgroup/job/cgroup.type":        "domain",
		"sys/fs/cgroup/job/cpu.stat":           "usage_usec 5\nnr_periods 9\nnr_throttled 3\nthrottled_usec 3000",
		"sys/fs/cgroup/job/step/cpu.stat":      "usage_usec 5\nnr_periods 9\nnr_throttled 1\nthrottled_usec 1000",
		"sys/fs/cgroup/job/step/cpu.pressure":  stalledLine(100),
		"sys/fs/cgroup/job/step/io.pressure":   stalledLine(200),
		"sys/fs/cgroup/job/step/cgroup.type":   "domain",
		"sys/fs/cgroup/job/step/memory.events": "",
	})
	return root
}
