package observe

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/procfs"
)

// hostFiles is where the kernel's files are: below root there is proc, sys, and whatever the control groups are mounted on.
type hostFiles struct {
	root string
	proc *procfs.FS // nil if /proc cannot be read
	// groups is this process's place in the control groups, which it keeps while it is observed.
	groups cgroups
}

// openHost finds the kernel's files below root; "" is the host's own root. Without /proc all signals but the clock's are
// unknown.
func openHost(root string) hostFiles {
	h := hostFiles{root: root}
	if h.root == "" {
		h.root = "/"
	}
	proc, err := procfs.NewFS(filepath.Join(h.root, "proc"))
	if err != nil {
		return h
	}
	h.proc = &proc
	h.groups = cgroupsOf(proc)
	for _, m := range h.groups.mounts {
		m.MountPoint = filepath.Join(h.root, m.MountPoint)
	}
	return h
}

// cpuTimes are the times of all CPUs together since the host started.
type cpuTimes struct {
	all   time.Duration // of every kind
	steal time.Duration
	// busy is what processes used. Interrupts are left out: most of them are the load's own, which goes over the loopback,
	// and depending on the kernel's configuration they are in the CPU time of the process that they interrupted.
	busy time.Duration
}

// cpuTimes reads the first line of /proc/stat, which counts hundredths of a second. A sandbox may show zeroes: known is false
// then.
func (h hostFiles) cpuTimes() (t cpuTimes, known bool) {
	if h.proc == nil {
		return cpuTimes{}, false
	}
	stat, err := h.proc.Stat()
	if err != nil {
		return cpuTimes{}, false
	}
	c := stat.CPUTotal // time as a guest's is in that of users already
	busy := c.User + c.Nice + c.System
	seconds := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	t = cpuTimes{
		all:   seconds(busy + c.Idle + c.Iowait + c.IRQ + c.SoftIRQ + c.Steal),
		steal: seconds(c.Steal),
		busy:  seconds(busy),
	}
	return t, t.all > 0
}

// The resources that the kernel counts stalls of.
const (
	cpuPressure = iota
	ioPressure
	memoryPressure
	pressures
)

var pressureNames = [pressures]string{"cpu", "io", "memory"}

// pressure is how long, in all, some task waited for a resource; known is false where the kernel does not count it.
type pressure struct {
	stalled time.Duration
	known   bool
}

// hostPressure reads /proc/pressure: of all tasks of the host.
func (h hostFiles) hostPressure() (all [pressures]pressure) {
	for i, name := range pressureNames {
		all[i] = readPressure(filepath.Join(h.root, "proc", "pressure", name))
	}
	return all
}

// groupPressure reads the same of this process's control group of version 2, which the servers that it starts are in too.
func (h hostFiles) groupPressure() (all [pressures]pressure) {
	dir, ok := h.groups.unified()
	if !ok {
		return all
	}
	for i, name := range pressureNames {
		all[i] = readPressure(filepath.Join(dir, name+".pressure"))
	}
	return all
}

// cpuPressurePercent is the share of the last ten seconds in which some task of the host waited for a CPU (PSI); nil if it is unknown.
func (h hostFiles) cpuPressurePercent() *float64 {
	text, known := pressureField(filepath.Join(h.root, "proc", "pressure", pressureNames[cpuPressure]), "avg10=")
	if !known {
		return nil
	}
	percent, err := strconv.ParseFloat(text, 64)
	if err != nil || !(percent >= 0 && percent <= 100) {
		return nil
	}
	return &percent
}

// readPressure reads the total of a file of pressure, which is in microseconds.
func readPressure(path string) pressure {
	text, known := pressureField(path, "total=")
	if !known {
		return pressure{}
	}
	us, err := strconv.ParseUint(text, 10, 63)
	return pressure{time.Duration(us) * time.Microsecond, err == nil}
}

// pressureField returns a field of the line "some avg10=0.00 avg60=0.00 avg300=0.00 total=123".
func pressureField(path, prefix string) (text string, known bool) {
	data, err := os.ReadFile(path)
	if err != nil { // also where the kernel was started without it, which the first read says
		return "", false
	}
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] != "some" {
			continue
		}
		for _, field := range fields[1:] {
			if text, is := strings.CutPrefix(field, prefix); is {
				return text, true
			}
		}
	}
	return "", false
}

// throttled is how often and how long the CPU quota of a control group has stopped tasks.
type throttled struct {
	periods uint64
	stopped time.Duration
}

// throttling reads the counters of this process's control group and of those above it, as far as they can be seen, by
// folder. Any of them may have a quota. known is false when not one tells.
func (h hostFiles) throttling() (groups map[string]throttled, known bool) {
	version, mount, dir, ok := h.groups.locate("cpu")
	if !ok {
		return nil, false
	}
	groups = map[string]throttled{}
	for {
		t, known, err := readThrottled(version, dir)
		switch {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return nil, false
		case known:
			groups[dir] = t
		case version == 2 && isRootGroup(dir):
			groups[dir] = throttled{} // it cannot be limited
		}
		if dir == mount {
			return groups, len(groups) > 0
		}
		dir = filepath.Dir(dir)
	}
}

// readThrottled reads cpu.stat, whose time is in microseconds in version 2 and in nanoseconds in version 1. A group without
// the CPU controller has the file without these counters.
func readThrottled(version int, dir string) (t throttled, known bool, err error) {
	data, err := os.ReadFile(filepath.Join(dir, "cpu.stat"))
	if err != nil {
		return throttled{}, false, err
	}
	key, unit := "throttled_usec", time.Microsecond
	if version == 1 {
		key, unit = "throttled_time", time.Nanosecond
	}
	for line := range strings.Lines(string(data)) {
		name, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name != key && name != "nr_throttled" {
			continue
		}
		n, err := strconv.ParseUint(text, 10, 63)
		if err != nil {
			return throttled{}, false, err
		}
		if name == key {
			t.stopped, known = time.Duration(n)*unit, true
		} else {
			t.periods = n
		}
	}
	return t, known, nil
}

// frequencies are the lowest and the highest clock rate among the CPUs at one moment, in MHz; known is false where the host
// does not show any. Without cpufreq files /proc/cpuinfo says what was measured if the CPU counts its cycles, which is
// the flag aperfmperf; else, as on many virtual machines, it has a constant, which says nothing.
func (h hostFiles) frequencies() (low, high float64, known bool) {
	take := func(mhz float64) {
		if mhz <= 0 {
			return
		}
		if !known || mhz < low {
			low = mhz
		}
		high, known = max(high, mhz), true
	}
	// The pattern is constant, and the root has none: no error.
	files, _ := filepath.Glob(filepath.Join(h.root, "sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // a CPU that was taken offline
		}
		if kHz, err := strconv.ParseFloat(strings.TrimSpace(string(text)), 64); err == nil {
			take(kHz / 1000)
		}
	}
	if known || h.proc == nil {
		return low, high, known
	}
	cpus, err := h.proc.CPUInfo()
	if err != nil {
		return 0, 0, false
	}
	for _, cpu := range cpus {
		if slices.Contains(cpu.Flags, "aperfmperf") {
			take(cpu.CPUMHz)
		}
	}
	return low, high, known
}
