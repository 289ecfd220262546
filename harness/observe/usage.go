package observe

import (
	"errors"
	"time"

	"github.com/prometheus/procfs"
)

// Usage is what a process had used at one moment.
type Usage struct {
	CPU time.Duration // as ProcessCPU counts it
	// Written is how many bytes the process made the kernel send to storage, as /proc/PID/io counts them: pages of files that the
	// process made dirty, again after each write-back. WritesKnown says whether the kernel counts them.
	Written     uint64
	WritesKnown bool
	At          time.Time // when it was read; carries the monotonic clock
}

// Spent is what a process used between two samples.
type Spent struct {
	CPU         time.Duration
	Written     uint64 // bytes
	WritesKnown bool
	Wall        time.Duration // by the monotonic clock
}

// Sample reads what the process pid has used up to now.
func Sample(pid int) (Usage, error) {
	cpu, err := ProcessCPU(pid)
	if err != nil {
		return Usage{}, err
	}
	u := Usage{CPU: cpu, At: time.Now()}
	u.Written, u.WritesKnown = written(pid)
	return u, nil
}

// Ended is the usage, from now on, of a process that has ended: its CPU time is known to who waited for it.
func Ended() Usage { return Usage{At: time.Now()} }

// written reads how much a process had written to storage. Kernels and sandboxes may not say.
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

// Since returns what was used from the earlier sample, of the same process, up to u.
func (u Usage) Since(earlier Usage) Spent {
	s := Spent{CPU: u.CPU - earlier.CPU, Wall: u.At.Sub(earlier.At)}
	if s.WritesKnown = u.WritesKnown && earlier.WritesKnown && u.Written >= earlier.Written; s.WritesKnown {
		s.Written = u.Written - earlier.Written
	}
	return s
}

// Cores returns how many CPUs the process kept busy on average.
func (s Spent) Cores() (float64, error) {
	if s.Wall <= 0 {
		return 0, errors.New("CPU share: no time has passed")
	}
	return float64(s.CPU) / float64(s.Wall), nil
}

// CPUMicrosecondsPer returns the CPU time per cycle in microseconds. Without a cycle there is no
// such figure, and it is an error.
func (s Spent) CPUMicrosecondsPer(cycles uint64) (float64, error) {
	if cycles == 0 {
		return 0, errors.New("CPU time per cycle: no cycle was counted")
	}
	return float64(s.CPU) / float64(time.Microsecond) / float64(cycles), nil
}

// WrittenBytesPer returns the bytes written to storage per cycle, with known false without such a
// count or without a cycle.
func (s Spent) WrittenBytesPer(cycles uint64) (bytes float64, known bool) {
	if cycles == 0 || !s.WritesKnown {
		return 0, false
	}
	return float64(s.Written) / float64(cycles), true
}

// Plus is what two processes used in the same time.
func (s Spent) Plus(o Spent) Spent {
	return Spent{
		CPU: s.CPU + o.CPU, Wall: max(s.Wall, o.Wall),
		Written: s.Written + o.Written, WritesKnown: s.WritesKnown && o.WritesKnown,
	}
}
