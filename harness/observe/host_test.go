package observe

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/prometheus/procfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestHostDescribesThisMachine(t *testing.T) {
	dir := t.TempDir()
	host := Host(dir)
	assert.Equal(t, runtime.GOOS, host.OS)
	assert.Equal(t, runtime.GOARCH, host.Arch)
	assert.Equal(t, runtime.NumCPU(), host.CPUs)
	assert.Equal(t, runtime.GOMAXPROCS(0), host.GOMAXPROCS)
	release, err := os.ReadFile("/proc/sys/kernel/osrelease")
	require.NoError(t, err)
	assert.Equal(t, string(release[:len(release)-1]), host.Kernel)
	var info unix.Sysinfo_t
	require.NoError(t, unix.Sysinfo(&info))
	assert.InEpsilon(t, float64(info.Totalram)*float64(info.Unit)/(1<<20), host.MemoryMB, 0.01)
	for name, text := range map[string]string{
		"cpu_model": host.CPUModel, "gomaxprocs_source": host.GOMAXPROCSSource, "cgroup_cpu_max": host.CgroupCPUMax,
		"cgroup_memory_max": host.CgroupMemoryMax, "filesystem": host.Filesystem,
		"virtualisation": host.Virtualisation, "container": host.Container,
	} {
		assert.NotEmpty(t, text, name)
	}
	assert.Positive(t, host.FsyncMsP50)
	assert.GreaterOrEqual(t, host.FsyncMsP99, host.FsyncMsP50)
	assert.GreaterOrEqual(t, host.FsyncMsMax, host.FsyncMsP99)
	assert.Positive(t, host.ThreadHopUsP50)
	assert.GreaterOrEqual(t, host.ThreadHopUsP99, host.ThreadHopUsP50)
	_, err = os.Stat("/proc/pressure/cpu")
	assert.Equal(t, err == nil, host.PressureCPUPercent != nil)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left, "the measurement removes its file")
}

func TestHostSaysUnknownWhereTheDataFolderIsMissing(t *testing.T) {
	host := Host(filepath.Join(t.TempDir(), "missing"))
	assert.Equal(t, unknown, host.Filesystem)
	assert.Zero(t, host.FsyncMsP50)
	assert.Zero(t, host.FsyncMsMax)
}

func TestFsyncSamplesAreBoundedByCountAndTime(t *testing.T) {
	latency, err := measureFsync(t.TempDir(), 3, time.Hour)
	require.NoError(t, err)
	assert.Equal(t, 3, latency.n)
	latency, err = measureFsync(t.TempDir(), 1000, 0)
	require.NoError(t, err)
	assert.Equal(t, 1, latency.n)
}

func TestFilesystemOfKnownMounts(t *testing.T) {
	// "/proc" is always mounted, because the process reads everything else from it.
	assert.Equal(t, "proc", filesystem("/proc"))
	mounts, err := procfs.GetMounts()
	require.NoError(t, err)
	for _, m := range mounts {
		var stat unix.Statfs_t
		if m.FSType == "tmpfs" && unix.Statfs(m.MountPoint, &stat) == nil && stat.Type == unix.TMPFS_MAGIC {
			assert.Equal(t, "tmpfs", filesystem(m.MountPoint))
		}
	}
}

func TestMountedTypeTakesTheInnermostAndLastMount(t *testing.T) {
	mounts := []*procfs.MountInfo{
		{MountPoint: "/data", FSType: "xfs"},
		{MountPoint: "/", FSType: "ext4"},
		{MountPoint: "/data/hot", FSType: "tmpfs"},
		{MountPoint: "/data/hot", FSType: "ext3"},
	}
	for path, want := range map[string]string{
		"/": "ext4", "/home": "ext4", "/data": "xfs", "/data/cold": "xfs", "/data/hot/x": "ext3", "/database": "ext4",
	} {
		assert.Equal(t, want, mountedType(path, mounts), path)
	}
	assert.Equal(t, unknown, mountedType("/x", nil))
}

func TestGOMAXPROCSSource(t *testing.T) {
	for _, c := range []struct {
		name, env   string
		procs, cpus int
		cpuMax      string
		want        string
	}{
		{"all CPUs", "", 8, 8, "max", "cpus"},
		{"environment", "3", 3, 8, "max", "env"},
		{"environment wins over cgroup", "3", 3, 8, "200000 100000", "env"},
		{"malformed environment is ignored", "x", 8, 8, "max", "cpus"},
		{"zero in the environment is ignored", "0", 8, 8, "max", "cpus"},
		{"changed by the program", "3", 5, 8, "max", unknown},
		{"cgroup", "", 4, 8, "400000 100000", "cgroup"},
		{"cgroup rounds up", "", 3, 8, "250000 100000", "cgroup"},
		{"cgroup is at least two", "", 2, 8, "50000 100000", "cgroup"},
		{"cgroup not below the CPUs", "", 2, 2, "50000 100000", "cpus"},
		{"cgroup unknown", "", 8, 8, unknown, "cpus"},
		{"unexplained", "", 5, 8, "400000 100000", unknown},
	} {
		assert.Equal(t, c.want, gomaxprocsSource(c.env, c.procs, c.cpus, c.cpuMax), c.name)
	}
}
