package doctor

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
)

// hostOf writes the given files, keyed by path, below a temporary root.
func hostOf(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return root
}

const cpu = "sys/devices/system/cpu/"

// Each setting is judged by the kernel's files that report it, and is unknown without them.
func TestSettingsOfADedicatedHost(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files map[string]string
		of    func(dedicatedHost) (string, bool)
		value string
		fit   bool
	}{
		"governor":            {map[string]string{cpu + "cpu0/cpufreq/scaling_governor": "performance\n", cpu + "cpu1/cpufreq/scaling_governor": "performance\n"}, dedicatedHost.governor, "performance", true},
		"governors":           {map[string]string{cpu + "cpu0/cpufreq/scaling_governor": "performance\n", cpu + "cpu1/cpufreq/scaling_governor": "powersave\n"}, dedicatedHost.governor, "performance, powersave", false},
		"no governor":         {nil, dedicatedHost.governor, "", false},
		"turbo of Intel":      {map[string]string{cpu + "intel_pstate/no_turbo": "0\n"}, dedicatedHost.turbo, "on", false},
		"no turbo of Intel":   {map[string]string{cpu + "intel_pstate/no_turbo": "1\n"}, dedicatedHost.turbo, "off", true},
		"boost":               {map[string]string{cpu + "cpufreq/boost": "1\n"}, dedicatedHost.turbo, "on", false},
		"no boost":            {map[string]string{cpu + "cpufreq/boost": "0\n"}, dedicatedHost.turbo, "off", true},
		"turbo unknown":       {nil, dedicatedHost.turbo, "", false},
		"isolated":            {map[string]string{cpu + "isolated": "2-5\n"}, dedicatedHost.isolated, "CPUs 2-5", false},
		"none isolated":       {map[string]string{cpu + "isolated": "\n"}, dedicatedHost.isolated, "none", true},
		"isolated unknown":    {nil, dedicatedHost.isolated, "", false},
		"SMT":                 {map[string]string{cpu + "smt/active": "1\n"}, dedicatedHost.smt, "on", false},
		"no SMT":              {map[string]string{cpu + "smt/active": "0\n"}, dedicatedHost.smt, "off", true},
		"SMT unknown":         {nil, dedicatedHost.smt, "", false},
		"huge pages":          {map[string]string{"sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never\n"}, dedicatedHost.hugePages, "always", false},
		"few huge pages":      {map[string]string{"sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n"}, dedicatedHost.hugePages, "madvise", true},
		"huge pages unknown":  {nil, dedicatedHost.hugePages, "", false},
		"swap":                {map[string]string{"proc/swaps": "Filename\n/dev/sda2 partition\n", "proc/sys/vm/swappiness": "60\n"}, dedicatedHost.swap, "swappiness 60", false},
		"little swap":         {map[string]string{"proc/swaps": "Filename\n/dev/sda2 partition\n", "proc/sys/vm/swappiness": "1\n"}, dedicatedHost.swap, "swappiness 1", true},
		"no swap":             {map[string]string{"proc/swaps": "Filename\n", "proc/sys/vm/swappiness": "60\n"}, dedicatedHost.swap, "none", true},
		"swap unknown":        {map[string]string{"proc/swaps": "Filename\n/dev/sda2 partition\n"}, dedicatedHost.swap, "", false},
		"one node":            {map[string]string{"sys/devices/system/node/online": "0\n"}, dedicatedHost.numa, "one node", true},
		"nodes":               {map[string]string{"sys/devices/system/node/online": "0-1\n", "proc/sys/kernel/numa_balancing": "1\n"}, dedicatedHost.numa, "nodes 0-1, balanced", false},
		"nodes apart":         {map[string]string{"sys/devices/system/node/online": "0-1\n", "proc/sys/kernel/numa_balancing": "0\n"}, dedicatedHost.numa, "nodes 0-1, no balancing", true},
		"nodes, unknown":      {map[string]string{"sys/devices/system/node/online": "0-1\n"}, dedicatedHost.numa, "", false},
		"NUMA unknown":        {nil, dedicatedHost.numa, "", false},
		"clock":               {map[string]string{"sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n"}, dedicatedHost.clockSource, "tsc", true},
		"slow clock":          {map[string]string{"sys/devices/system/clocksource/clocksource0/current_clocksource": "hpet\n"}, dedicatedHost.clockSource, "hpet", false},
		"irqbalance":          {map[string]string{"proc/1/comm": "init\n", "proc/7/comm": "irqbalance\n"}, dedicatedHost.irqbalance, "running", false},
		"no irqbalance":       {map[string]string{"proc/1/comm": "init\n", "proc/2/comm": "kthreadd\n"}, dedicatedHost.irqbalance, "not running", true},
		"inside a container":  {map[string]string{"proc/1/comm": "init\n"}, dedicatedHost.irqbalance, "", false},
		"no processes at all": {nil, dedicatedHost.irqbalance, "", false},
	} {
		value, fit := c.of(dedicatedHost{hostOf(t, c.files)})
		assert.Equal(t, c.value, value, name)
		assert.Equal(t, c.fit, fit && value != "", name)
	}
}

// A folder on a partition uses the queue of the whole disk.
func TestDisksOfADedicatedHost(t *testing.T) {
	t.Parallel()
	root := hostOf(t, map[string]string{
		"sys/devices/pci/nvme0n1/queue/scheduler":   "[none] mq-deadline\n",
		"sys/devices/pci/nvme0n1/queue/write_cache": "write back\n",
		"sys/devices/pci/nvme0n1/nvme0n1p1/size":    "1\n",
		"sys/devices/pci/sda/queue/scheduler":       "none [mq-deadline]\n",
		"sys/devices/pci/sda/queue/rotational":      "1\n",
		"sys/devices/pci/sdb/queue/scheduler":       "[bfq] none\n",
		"sys/devices/virtual/ram0/queue/scheduler":  "none\n",
		"sys/dev/block/none":                        "",
	})
	h := dedicatedHost{root}
	for minor, device := range []string{"pci/nvme0n1/nvme0n1p1", "pci/sda", "pci/sdb", "virtual/ram0"} {
		require.NoError(t, os.Symlink("../../devices/"+device, filepath.Join(root, "sys/dev/block", "259:"+string(rune('0'+minor)))))
	}
	for minor, want := range []struct {
		scheduler string
		fit       bool
		cache     string
		state     State
	}{{"none", true, "write back", Note}, {"mq-deadline", true, "", Unknown}, {"bfq", false, "", Unknown}, {"none", true, "", Unknown}} {
		queue, known := h.queueOf(259, uint32(minor))
		require.True(t, known)
		scheduler, fit := h.scheduler(queue, known)
		assert.Equal(t, want.scheduler, scheduler)
		assert.Equal(t, want.fit, fit)
		cache := h.writeCache(queue, known)
		assert.Equal(t, want.cache, cache.Value)
		assert.Equal(t, want.state, cache.State)
	}
	_, known := h.queueOf(0, 42)
	assert.False(t, known, "a file system without a disk")
	_, fit := h.scheduler("", false)
	assert.False(t, fit)
}

// An unfit setting makes the host unfit; an unknown one does not.
func TestAHostIsJudgedAsDedicated(t *testing.T) {
	t.Parallel()
	judge := func(files map[string]string, signals *result.Signals, fsync float64) *Report {
		d := &Report{Verdict: result.Pass, Host: result.Host{FsyncMsP50: fsync}}
		d.dedicated(hostOf(t, files), t.TempDir(), signals)
		for _, s := range d.Dedicated {
			assert.NotEmpty(t, s.Advised, s.Name)
			assert.NotEmpty(t, s.Why, s.Name)
			assert.Equal(t, s.Value == "", s.State == Unknown, s.Name)
		}
		return d
	}
	state := func(d *Report, name string) State {
		i := slices.IndexFunc(d.Dedicated, func(s Setting) bool { return s.Name == name })
		require.GreaterOrEqual(t, i, 0, name)
		return d.Dedicated[i].State
	}
	nothing := judge(nil, &result.Signals{}, 0)
	for _, name := range []string{"governor", "steal", "other load", "fsync", "disk scheduler", "write cache"} {
		assert.Equal(t, Unknown, state(nothing, name), name)
	}
	for name, d := range map[string]*Report{
		"SMT":        judge(map[string]string{cpu + "smt/active": "1"}, &result.Signals{}, 0),
		"steal":      judge(nil, &result.Signals{StealPercent: new(0.2)}, 0),
		"other load": judge(nil, &result.Signals{ForeignCPUPercent: new(1.5)}, 0),
		"fsync":      judge(nil, &result.Signals{}, 2.5),
	} {
		assert.Equal(t, Unfit, state(d, name), name)
		assert.Equal(t, result.Invalid, d.Verdict, name)
	}
	fine := judge(map[string]string{cpu + "smt/active": "0"}, &result.Signals{StealPercent: new(0.05), ForeignCPUPercent: new(0.5)}, 1)
	for _, name := range []string{"SMT", "steal", "other load", "fsync"} {
		assert.Equal(t, Fit, state(fine, name), name)
	}
}

// DEDICATED.md has a row for each check.
func TestThePageNamesAllSettings(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../DEDICATED.md")
	require.NoError(t, err)
	d := &Report{}
	d.dedicated(t.TempDir(), t.TempDir(), &result.Signals{})
	for _, s := range d.Dedicated {
		assert.Contains(t, string(page), "\n| "+s.Name+" | ", "a row of the table")
	}
}
