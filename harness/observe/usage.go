package observe

import (
	"errors"
	"time"

	"github.com/prometheus/procfs"
)

// Usage is the total resource usage of a process up to one moment.
type Usage struct {
	CPU time.Duration // see ProcessCPU
	// Written is the number of bytes that the process caused the kernel to send to storage, as
	// reported in /proc/PID/io. A page of a file that the process modified counts once each time it
	// is written back.
	Written Count
	// Switches is the number of times that a thread of the process gave up its CPU to wait: its
	// voluntary context switches. See ContextSwitches.
	Switches Count
	At       time.Time // time of the reading, with a monotonic reading
}

// Count is a number that the kernel counts for a process. Known is false if the kernel or the sandbox
// does not report it.
type Count struct {
	N     uint64
	Known bool
}

// PerCycle returns the count divided by a number of cycles. known is false if the count is unknown
// or cycles is 0.
func (c Count) PerCycle(cycles uint64) (n float64, known bool) {
	if cycles == 0 || !c.Known {
		return 0, false
	}
	return float64(c.N) / float64(cycles), true
}

// since returns the count since an earlier reading. It is unknown if the count fell.
func (c Count) since(earlier Count) Count {
	if !c.Known || !earlier.Known || c.N < earlier.N {
		return Count{}
	}
	return Count{c.N - earlier.N, true}
}

func (c Count) plus(o Count) Count { return Count{c.N + o.N, c.Known && o.Known} }

// Spent is the resource usage of a process between two samples.
type Spent struct {
	CPU      time.Duration
	Written  Count         // bytes
	Switches Count         // voluntary context switches
	Wall     time.Duration // measured by the monotonic clock
}

// Sample returns the resource usage of the process pid so far.
func Sample(pid int) (Usage, error) {
	cpu, err := ProcessCPU(pid)
	if err != nil {
		return Usage{}, err
	}
	u := Usage{CPU: cpu, At: time.Now()}
	u.Written.N, u.Written.Known = written(pid)
	if switches, err := ContextSwitches(pid); err == nil {
		u.Switches = Count{switches.Voluntary, true}
	}
	return u, nil
}

// Ended returns the usage of a process that has ended. The caller must add the CPU time that was
// reported when it waited for the process.
func Ended() Usage { return Usage{At: time.Now()} }

// written reads the number of bytes that a process has written to storage. known is false if the
// kernel or the sandbox does not report it.
func written(pid int) (bytes uint64, known bool) {
	proc, err := procfs.NewProc(pid)
	if err != nil {
		return 0, false
	}
	io, err := proc.IO()
	if err != nil {
		return 0, false
	}
	return io.WriteBytes, true
}

// Since returns the resource usage since an earlier sample of the same process.
func (u Usage) Since(earlier Usage) Spent {
	return Spent{
		CPU: u.CPU - earlier.CPU, Wall: u.At.Sub(earlier.At),
		Written: u.Written.since(earlier.Written), Switches: u.Switches.since(earlier.Switches),
	}
}

// Cores returns the average number of busy CPUs.
func (s Spent) Cores() (float64, error) {
	if s.Wall <= 0 {
		return 0, errors.New("CPU share: no time has passed")
	}
	return float64(s.CPU) / float64(s.Wall), nil
}

// CPUMicrosecondsPer returns the CPU time per cycle in microseconds. It returns an error if cycles
// is 0.
func (s Spent) CPUMicrosecondsPer(cycles uint64) (float64, error) {
	if cycles == 0 {
		return 0, errors.New("CPU time per cycle: no cycle was counted")
	}
	return float64(s.CPU) / float64(time.Microsecond) / float64(cycles), nil
}

// Plus returns the total usage of two processes during the same time.
func (s Spent) Plus(o Spent) Spent {
	return Spent{
		CPU: s.CPU + o.CPU, Wall: max(s.Wall, o.Wall),
		Written: s.Written.plus(o.Written), Switches: s.Switches.plus(o.Switches),
	}
}
