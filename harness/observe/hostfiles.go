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

// hostFiles locates the kernel's files. root is the folder that contains proc, sys, and the mount
// points of the control groups.
type hostFiles struct {
	root string
	proc *procfs.FS // nil if /proc cannot be read
	// groups contains the control groups of this process. It is assumed that they do not change
	// during the observation.
	groups cgroups
}

// openHost locates the kernel's files below root. "" is the real root. If /proc cannot be read, all
// signals except those of the clock are unknown.
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

// cpuTimes contains the times of all CPUs since the host started.
type cpuTimes struct {
	all   time.Duration // time of all kinds, including idle time
	steal time.Duration
	// busy is the time that processes used. It excludes interrupts. Most interrupts are caused by
	// the load, because the load uses the loopback interface. Depending on the kernel's
	// configuration, they count as CPU time of the process that was interrupted.
	busy time.Duration
}

// cpuTimes reads the first line of /proc/stat, which counts hundredths of a second. known is false
// if all times are zero, as in some sandboxes.
func (h hostFiles) cpuTimes() (t cpuTimes, known bool) {
	if h.proc == nil {
		return cpuTimes{}, false
	}
	stat, err := h.proc.Stat()
	if err != nil {
		return cpuTimes{}, false
	}
	c := stat.CPUTotal // user time includes guest time
	busy := c.User + c.Nice + c.System
	seconds := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	t = cpuTimes{
		all:   seconds(busy + c.Idle + c.Iowait + c.IRQ + c.SoftIRQ + c.Steal),
		steal: seconds(c.Steal),
		busy:  seconds(busy),
	}
	return t, t.all > 0
}

// Resources whose stalls the kernel reports.
const (
	cpuPressure = iota
	ioPressure
	memoryPressure
	pressures
)

var pressureNames = [pressures]string{"cpu", "io", "memory"}

// pressure is the total time during which at least one task waited for a resource. known is false
// if the kernel does not report it.
type pressure struct {
	stalled time.Duration
	known   bool
}

func (h hostFiles) hostPressure() (all [pressures]pressure) {
	for i, name := range pressureNames {
		all[i] = readPressure(filepath.Join(h.root, "proc", "pressure", name))
	}
	return all
}

// groupPressure reads the pressure of the version 2 control group of this process. The group also
// contains the servers that this process starts.
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

// cpuPressurePercent returns the share of the last ten seconds during which at least one task of
// the host waited for a CPU (PSI), in percent. It returns nil if the share is unknown.
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

// readPressure reads the total of a pressure file, which is in microseconds.
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
	if err != nil { // even if the file exists, reading fails if the kernel was started without PSI
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

// throttled describes how a CPU quota stopped a control group: the number of stops and their total
// duration.
type throttled struct {
	periods uint64
	stopped time.Duration
}

// throttling reads the counters of this process's control group and of its visible ancestors. The
// keys are folders. Any of the groups may have a quota. known is false if no group reports the
// counters.
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
			groups[dir] = throttled{} // the root group cannot be limited
		}
		if dir == mount {
			return groups, len(groups) > 0
		}
		dir = filepath.Dir(dir)
	}
}

// readThrottled reads cpu.stat. The unit of version 1 is a nanosecond, and the unit of version 2 is
// a microsecond. If the CPU controller is not enabled for a group, the file exists but does not
// contain the counters.
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

// frequencies returns the lowest and the highest current clock rate of the CPUs, in MHz. known is
// false if the host does not report them. If there are no cpufreq files, frequencies reads
// /proc/cpuinfo, but only if the CPU has the flag aperfmperf: the rates are then measured. Without
// the flag, as on many virtual machines, they are meaningless constants.
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
	// Glob returns an error only for an invalid pattern.
	files, _ := filepath.Glob(filepath.Join(h.root, "sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // the CPU is offline
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
