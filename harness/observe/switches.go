package observe

import (
	"fmt"

	"github.com/prometheus/procfs"
)

// Switches is how often the kernel took threads off a CPU.
type Switches struct {
	Voluntary   uint64 // because they waited
	Involuntary uint64 // because others were due
}

// ContextSwitches returns how often the threads of the process pid that live now were switched so far. Go's runtime ends threads rarely, so
// that the difference of two readings is the process's.
func ContextSwitches(pid int) (s Switches, err error) {
	threads, err := procfs.AllThreads(pid)
	if err != nil {
		return s, fmt.Errorf("context switches of process %d: %w", pid, err)
	}
	for _, thread := range threads {
		status, err := thread.NewStatus()
		if err != nil {
			return s, fmt.Errorf("context switches of process %d: thread %d: %w", pid, thread.PID, err)
		}
		s.Voluntary += status.VoluntaryCtxtSwitches
		s.Involuntary += status.NonVoluntaryCtxtSwitches
	}
	return s, nil
}

// HostCPU is the time of all CPUs of the host together.
type HostCPU struct{ all, idle float64 }

// ReadHostCPU reads it. A sandbox may show zeroes: known is false then.
func ReadHostCPU() (c HostCPU, known bool) {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return c, false
	}
	stat, err := fs.Stat()
	if err != nil {
		return c, false
	}
	t := stat.CPUTotal // time as a guest's is in that of users already
	c.idle = t.Idle + t.Iowait
	c.all = t.User + t.Nice + t.System + t.IRQ + t.SoftIRQ + t.Steal + c.idle
	return c, c.all > 0
}

// IdlePercent is the share of the CPUs' time since an earlier reading in which they had nothing to do. The kernel counts hundredths of a
// second.
func (c HostCPU) IdlePercent(before HostCPU) float64 {
	if c.all <= before.all {
		return 0
	}
	return 100 * (c.idle - before.idle) / (c.all - before.all)
}
