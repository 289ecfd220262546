package observe

import (
	"fmt"

	"github.com/prometheus/procfs"
)

// Switches counts how often the kernel removed threads from a CPU.
type Switches struct {
	Voluntary   uint64 // because the thread waited
	Involuntary uint64 // because the thread was preempted
}

// ContextSwitches returns the number of context switches of the process pid. It includes only the
// threads that exist now. Go's runtime rarely ends threads, so the difference of two readings is
// close to the number for the whole process.
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

// HostCPU contains the times of all CPUs of the host.
type HostCPU struct{ all, idle float64 }

// ReadHostCPU reads the current times. known is false if all times are zero, as in some sandboxes.
func ReadHostCPU() (c HostCPU, known bool) {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return c, false
	}
	stat, err := fs.Stat()
	if err != nil {
		return c, false
	}
	t := stat.CPUTotal // user time includes guest time
	c.idle = t.Idle + t.Iowait
	c.all = t.User + t.Nice + t.System + t.IRQ + t.SoftIRQ + t.Steal + c.idle
	return c, c.all > 0
}

// IdlePercent returns the share of idle time of the CPUs since an earlier reading, in percent. The
// kernel counts in units of a hundredth of a second.
func (c HostCPU) IdlePercent(before HostCPU) float64 {
	if c.all <= before.all {
		return 0
	}
	return 100 * (c.idle - before.idle) / (c.all - before.all)
}
