package observe

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/prometheus/procfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tree writes the given files, keyed by path, into a new folder and returns the folder.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text+"\n"), 0o600))
	}
	return root
}

func version2(mount, root, path string) cgroups {
	return cgroups{
		groups: []procfs.Cgroup{{HierarchyID: 0, Path: path}},
		mounts: []*procfs.MountInfo{{FSType: "cgroup2", MountPoint: mount, Root: root}},
	}
}

func TestCgroupVersion2TakesTheTightestLevel(t *testing.T) {
	root := tree(t, map[string]string{
		"cgroup.controllers": "cpu memory",
		"a/cgroup.type":      "domain",
		"a/cpu.max":          "150000 100000",
		"a/memory.max":       "max",
		"a/b/cgroup.type":    "domain",
		"a/b/cpu.max":        "400000 200000",
		"a/b/memory.max":     "1073741824",
		"free/cpu.max":       "max 100000",
		"free/memory.max":    "max",
		"deep/x/y/z":         "",
		"odd/cpu.max":        "quick",
		"odd/memory.max":     "much",
	})
	for path, want := range map[string][2]string{
		"/a/b":    {"150000 100000", "1073741824"},
		"/a":      {"150000 100000", "max"},
		"/free":   {"max", "max"},
		"/":       {"max", "max"}, // the root group cannot be limited
		"/deep/x": {"max", "max"}, // no controller enabled below the root
		"/odd":    {unknown, unknown},
	} {
		c := version2(root, "/", path)
		assert.Equal(t, want[0], c.cpuMax(), "CPU of %s", path)
		assert.Equal(t, want[1], c.memoryMax(), "memory of %s", path)
	}
}

func TestCgroupInsideAContainer(t *testing.T) {
	root := tree(t, map[string]string{"cgroup.type": "domain", "cpu.max": "200000 100000", "in/memory.max": "4096"})
	for name, c := range map[string]cgroups{
		"own namespace":     version2(root, "/", "/in"),
		"host's path":       version2(root, "/docker/1", "/docker/1/in"),
		"outside the mount": version2(root, "/docker/1", "/docker/2"),
	} {
		assert.Equal(t, "200000 100000", c.cpuMax(), name)
	}
	assert.Equal(t, "4096", version2(root, "/docker/1", "/docker/1/in").memoryMax())
	assert.Equal(t, unknown, version2(root, "/docker/1", "/docker/2").memoryMax(), "limits above the mount cannot be seen")
}

func TestCgroupVersion1(t *testing.T) {
	root := tree(t, map[string]string{
		"cpu/cpu.cfs_quota_us":           "-1",
		"cpu/cpu.cfs_period_us":          "100000",
		"cpu/job/cpu.cfs_quota_us":       "50000",
		"cpu/job/cpu.cfs_period_us":      "100000",
		"memory/memory.limit_in_bytes":   "9223372036854771712",
		"memory/m/memory.limit_in_bytes": "2097152",
		"unified/cgroup.controllers":     "",
	})
	at := func(cpu, memory string) cgroups {
		return cgroups{
			groups: []procfs.Cgroup{
				// A hybrid host also has version 2, without these controllers.
				{HierarchyID: 0, Path: "/"},
				{HierarchyID: 1, Controllers: []string{"cpu", "cpuacct"}, Path: cpu},
				{HierarchyID: 4, Controllers: []string{"memory"}, Path: memory},
			},
			mounts: []*procfs.MountInfo{
				{FSType: "cgroup2", MountPoint: filepath.Join(root, "unified"), Root: "/"},
				{FSType: "cgroup", MountPoint: filepath.Join(root, "cpu"), Root: "/", SuperOptions: map[string]string{"rw": "", "cpu": "", "cpuacct": ""}},
				{FSType: "cgroup", MountPoint: filepath.Join(root, "memory"), Root: "/", SuperOptions: map[string]string{"rw": "", "memory": ""}},
			},
		}
	}
	limited := at("/job", "/m")
	assert.Equal(t, "50000 100000", limited.cpuMax())
	assert.Equal(t, "2097152", limited.memoryMax())
	free := at("/", "/")
	assert.Equal(t, "max", free.cpuMax())
	assert.Equal(t, "max", free.memoryMax())
}

func TestCgroupUnknownWhenNothingIsMounted(t *testing.T) {
	assert.Equal(t, unknown, cgroups{}.cpuMax())
	assert.Equal(t, unknown, cgroups{groups: []procfs.Cgroup{{Path: "/"}}}.memoryMax())
	assert.Equal(t, unknown, version2(t.TempDir(), "/", "/").cpuMax())
}

// CPUTime returns the limit of this process.
func TestCPUTime(t *testing.T) {
	want, ok := cpuLimit(readCgroups().cpuMax())
	if !ok {
		want = math.Inf(1)
	}
	assert.Equal(t, want, CPUTime())
	assert.Positive(t, CPUTime())
}
