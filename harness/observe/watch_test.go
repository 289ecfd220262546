package observe

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
)

// fakeClocks holds both clocks, which a test moves.
type fakeClocks struct {
	mu              sync.Mutex
	wall, monotonic time.Duration
}

func (c *fakeClocks) read() (wall, monotonic time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wall, c.monotonic
}

func (c *fakeClocks) move(wall, monotonic time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wall, c.monotonic = c.wall+wall, c.monotonic+monotonic
}

// watched watches a tree for slightly more than ten seconds of the bubble's time, so that the last
// sample is not at the end. It calls change halfway.
func watched(t *testing.T, config WatchConfig, change func()) (s result.Signals) {
	t.Helper()
	if config.clocks == nil {
		config.clocks = (&fakeClocks{}).read
	}
	synctest.Test(t, func(*testing.T) {
		w := StartWatch(config)
		<-time.After(5*time.Second + time.Millisecond)
		change()
		<-time.After(5 * time.Second)
		s = w.Stop()
	})
	return s
}

func TestWatchReadsEverySignal(t *testing.T) {
	root := unifiedHost(t)
	own := 3 * time.Second
	s := watched(t, WatchConfig{Root: root, OwnCPU: func() (time.Duration, error) { return own, nil }}, func() {
		own += 4 * time.Second
		put(t, root, map[string]string{
			// 20 s of two CPUs: 7 of user and system time, of which 4 are the run's, 2 of
			// interrupts, 10 idle or waiting, 1 stolen.
			"proc/stat":                           statLine(1500, 100, 600, 8900, 100, 60, 240, 500),
			"proc/pressure/cpu":                   stalledLine(6_000_000),
			"proc/pressure/io":                    stalledLine(2_500_000),
			"proc/pressure/memory":                stalledLine(1_000),
			"sys/fs/cgroup/job/cpu.stat":          "usage_usec 5\nnr_periods 99\nnr_throttled 13\nthrottled_usec 253000",
			"sys/fs/cgroup/job/step/cpu.stat":     "usage_usec 5\nnr_periods 99\nnr_throttled 2\nthrottled_usec 2000",
			"sys/fs/cgroup/job/step/cpu.pressure": stalledLine(1_000_100),
			"sys/fs/cgroup/job/step/io.pressure":  stalledLine(200),
			"proc/cpuinfo":                        fmt.Sprintf(cpuinfo, 1200.0, 2400.0),
		})
	})
	all := 0.01 * float64(1500+100+600+8900+100+60+240+500-10000)
	require.InDelta(t, 20, all, 1e-9)
	for name, c := range map[string]struct {
		want float64
		got  *float64
	}{
		"steal":          {5, s.StealPercent},
		"foreign":        {15, s.ForeignCPUPercent},
		"cpu":            {50, s.PressureCPUPercent},
		"io":             {5, s.PressureIOPercent},
		"memory":         {0.01, s.PressureMemoryPercent},
		"group's cpu":    {10, s.GroupPressureCPUPercent},
		"group's io":     {0, s.GroupPressureIOPercent},
		"throttled":      {250, s.ThrottledMs},
		"its share":      {2.5, s.ThrottledPercent},
		"its periods":    {10, s.ThrottledPeriods},
		"clock":          {0, s.ClockStepMs},
		"lowest":         {1200, s.FrequencyMHzMin},
		"highest":        {3000, s.FrequencyMHzMax},
		"drop of faster": {20, s.FrequencyDropPercent},
	} {
		if assert.NotNil(t, c.got, name) {
			assert.InDelta(t, c.want, *c.got, 0.01, name)
		}
	}
	assert.Nil(t, s.GroupPressureMemoryPercent, "the group has no memory.pressure")
	assert.Equal(t, 42, s.Samples, "one per 250 ms, and the edges")
}

// A signal that cannot be read is unknown, not good.
func TestWatchKnowsNothingOfABareHost(t *testing.T) {
	for name, root := range map[string]string{"no proc": t.TempDir(), "no root": filepath.Join(t.TempDir(), "none")} {
		s := watched(t, WatchConfig{Root: root}, func() {})
		assert.Equal(t, result.Signals{ClockStepMs: new(0.0), Samples: 42}, s, name)
	}
}

func TestWatchOfASandboxThatShowsZeroes(t *testing.T) {
	root := unifiedHost(t)
	put(t, root, map[string]string{"proc/stat": statLine(0, 0, 0, 0, 0, 0, 0, 0)})
	s := watched(t, WatchConfig{Root: root}, func() {})
	assert.Nil(t, s.StealPercent)
	assert.Nil(t, s.ForeignCPUPercent)
}

func TestForeignCPUIsUnknownWithoutTheRunsOwn(t *testing.T) {
	root := unifiedHost(t)
	s := watched(t, WatchConfig{Root: root, OwnCPU: func() (time.Duration, error) { return 0, errors.New("gone") }}, func() {
		put(t, root, map[string]string{"proc/stat": statLine(1500, 0, 500, 8500, 0, 10, 90, 400)})
	})
	assert.Equal(t, new(0.0), s.StealPercent)
	assert.Nil(t, s.ForeignCPUPercent)
}

// /proc/stat lags behind the clock of a process, so the run may appear to have used more than the
// total.
func TestForeignCPUIsNeverNegative(t *testing.T) {
	root := unifiedHost(t)
	own := time.Duration(0)
	s := watched(t, WatchConfig{Root: root, OwnCPU: func() (time.Duration, error) { return own, nil }}, func() {
		own = 6 * time.Second
		put(t, root, map[string]string{"proc/stat": statLine(1500, 0, 500, 8500, 0, 10, 90, 400)})
	})
	assert.Equal(t, new(0.0), s.ForeignCPUPercent)
}

func TestThrottlingOfVersion1(t *testing.T) {
	root := t.TempDir()
	inGroups(t, root, "4:cpu,cpuacct:/job", "31 20 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct")
	put(t, root, map[string]string{
		"sys/fs/cgroup/cpu/cpu.stat":     "nr_periods 0\nnr_throttled 0\nthrottled_time 0",
		"sys/fs/cgroup/cpu/job/cpu.stat": "nr_periods 1\nnr_throttled 1\nthrottled_time 1000000",
	})
	s := watched(t, WatchConfig{Root: root}, func() {
		put(t, root, map[string]string{"sys/fs/cgroup/cpu/job/cpu.stat": "nr_periods 9\nnr_throttled 5\nthrottled_time 41000000"})
	})
	assert.Equal(t, new(40.0), s.ThrottledMs)
	assert.Equal(t, new(4.0), s.ThrottledPeriods)
	assert.Nil(t, s.GroupPressureCPUPercent, "version 1 has no pressure")
}

// A group that cannot have a quota is not throttled. A group that does not report the counters is
// unknown.
func TestThrottlingOfGroupsWithoutCounters(t *testing.T) {
	const mounted = "30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup rw"
	root := t.TempDir()
	inGroups(t, root, "0::/", mounted)
	put(t, root, map[string]string{"sys/fs/cgroup/cgroup.controllers": "cpu", "sys/fs/cgroup/cpu.stat": "usage_usec 5"})
	assert.Equal(t, new(0.0), watched(t, WatchConfig{Root: root}, func() {}).ThrottledMs)

	contained := t.TempDir()
	inGroups(t, contained, "0::/", mounted)
	put(t, contained, map[string]string{"sys/fs/cgroup/cgroup.type": "domain", "sys/fs/cgroup/cpu.stat": "usage_usec 5"})
	assert.Nil(t, watched(t, WatchConfig{Root: contained}, func() {}).ThrottledMs)

	odd := t.TempDir()
	inGroups(t, odd, "0::/", mounted)
	put(t, odd, map[string]string{"sys/fs/cgroup/cpu.stat": "throttled_usec many"})
	assert.Nil(t, watched(t, WatchConfig{Root: odd}, func() {}).ThrottledMs)
}

func TestPressureThatIsNotCounted(t *testing.T) {
	root := unifiedHost(t)
	put(t, root, map[string]string{"proc/pressure/cpu": "full avg10=0.00 total=4", "proc/pressure/io": "some avg10=0.00 total=x"})
	require.NoError(t, os.Remove(filepath.Join(root, "proc/pressure/memory")))
	s := watched(t, WatchConfig{Root: root}, func() {})
	assert.Nil(t, s.PressureCPUPercent)
	assert.Nil(t, s.PressureIOPercent)
	assert.Nil(t, s.PressureMemoryPercent)
}

// The files of cpufreq take precedence over /proc/cpuinfo.
func TestFrequencyOfCPUFreq(t *testing.T) {
	root := unifiedHost(t)
	frequency := func(cpu0, cpu1 int) {
		put(t, root, map[string]string{
			"sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq": fmt.Sprint(cpu0),
			"sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq": fmt.Sprint(cpu1),
		})
	}
	frequency(4_000_000, 800_000)
	s := watched(t, WatchConfig{Root: root}, func() { frequency(900_000, 3_000_000) })
	assert.Equal(t, new(800.0), s.FrequencyMHzMin)
	assert.Equal(t, new(4000.0), s.FrequencyMHzMax)
	assert.Equal(t, new(25.0), s.FrequencyDropPercent)
}

// A virtual machine without a cycle counter shows a constant, which is not a measurement.
func TestFrequencyThatIsAConstant(t *testing.T) {
	root := unifiedHost(t)
	put(t, root, map[string]string{"proc/cpuinfo": strings.ReplaceAll(fmt.Sprintf(cpuinfo, 2600.0, 2600.0), " aperfmperf", " hypervisor")})
	s := watched(t, WatchConfig{Root: root}, func() {})
	assert.Nil(t, s.FrequencyMHzMin)
	assert.Nil(t, s.FrequencyDropPercent)
}

func TestClockSteps(t *testing.T) {
	for name, c := range map[string]struct {
		wall, monotonic time.Duration
		want            float64
	}{
		"forward":   {30 * time.Millisecond, 0, 30},
		"backward":  {-50 * time.Millisecond, 0, 50},
		"suspended": {time.Hour, time.Second, 3_599_000},
		"none":      {time.Second, time.Second, 0},
	} {
		clock := &fakeClocks{wall: 1000 * time.Hour}
		s := watched(t, WatchConfig{Root: t.TempDir(), clocks: clock.read}, func() { clock.move(c.wall, c.monotonic) })
		assert.InDelta(t, c.want, *s.ClockStepMs, 1e-9, name)
	}
	var forthAndBack clockStep
	clock := &fakeClocks{}
	forthAndBack.sample(clock.read)
	clock.move(20*time.Millisecond, 0)
	forthAndBack.sample(clock.read)
	clock.move(-20*time.Millisecond, 0)
	forthAndBack.sample(clock.read)
	assert.InDelta(t, 20, forthAndBack.ms(), 1e-9, "a comparison of the edges would miss it")
}

func TestHostClocksAgree(t *testing.T) {
	wall, monotonic := hostClocks()
	now := time.Now()
	assert.InDelta(t, float64(now.UnixNano()), float64(wall), float64(time.Minute))
	later, after := hostClocks()
	assert.GreaterOrEqual(t, after, monotonic)
	_ = later
}

func TestWatchCallsSample(t *testing.T) {
	called := 0
	watched(t, WatchConfig{Root: t.TempDir(), Every: time.Second, Sample: func() { called++ }}, func() {})
	assert.Equal(t, 12, called)
}

// The real host can be watched, and reports at least the signals of every Linux.
func TestWatchThisHost(t *testing.T) {
	s := StartWatch(WatchConfig{}).Stop()
	assert.NotNil(t, s.ClockStepMs)
	assert.Equal(t, 2, s.Samples)
}
