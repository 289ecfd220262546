package observe

import (
	"errors"
	"time"

	"github.com/prometheus/procfs"
)

// Usage is the cumulative resource usage of a process at one moment.
type Usage struct {
	CPU time.Duration // as ProcessCPU counts it
	// Written is the number of bytes that the process made the kernel send to storage, as in
	// /proc/PID/io: pages of files that the process dirtied, once per write-back. WritesKnown
	// reports whether the kernel counts them.
	Written     uint64
	WritesKnown bool
	At          time.Time // time of the reading, with the monotonic clock
}

// Spent is the resource usage of a process between two samples.
type Spent struct {
	CPU         time.Duration
	Written     uint64 // bytes
	WritesKnown bool
	Wall        time.Duration // by the monotonic clock
}

// Sample returns the resource usage of the process pid so far.
func Sample(pid int) (Usage, error) {
	cpu, err := ProcessCPU(pid)
	if err != nil {
		return Usage{}, err
	}
	u := Usage{CPU: cpu, At: time.Now()}
	u.Written, u.WritesKnown = written(pid)
	return u, nil
}

// Ended returns the usage of a process that has ended. The caller adds the CPU time that the wait
// for it reported.
func Ended() Usage { return Usage{At: time.Now()} }

// written reads the bytes that a process has written to storage. Kernels and sandboxes may not
// report it.
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

// Since returns the usage between an earlier sample of the same process and u.
func (u Usage) Since(earlier Usage) Spent {
	s := Spent{CPU: u.CPU - earlier.CPU, Wall: u.At.Sub(earlier.At)}
	if s.WritesKnown = u.WritesKnown && earlier.WritesKnown && u.Written >= earlier.Written; s.WritesKnown {
		s.Written = u.Written - earlier.Written
	}
	return s
}

// Cores returns the average number of busy CPUs.
func (s Spent) Cores() (float64, error) {
	if s.Wall <= 0 {
		return 0, errors.New("CPU share: no time has passed")
	}
	return float64(s.CPU) / float64(s.Wall), nil
}

// CPUMicrosecondsPer returns the CPU time per cycle in microseconds. It fails without cycles.
func (s Spent) CPUMicrosecondsPer(cycles uint64) (float64, error) {
	if cycles == 0 {
		return 0, errors.New("CPU time per cycle: no cycle was counted")
	}
	return float64(s.CPU) / float64(time.Microsecond) / float64(cycles), nil
}

// WrittenBytesPer returns the bytes written to storage per cycle. known is false without a count or
// without cycles.
func (s Spent) WrittenBytesPer(cycles uint64) (bytes float64, known bool) {
	if cycles == 0 || !s.WritesKnown {
		return 0, false
	}
	return float64(s.Written) / float64(cycles), true
}

// Plus returns the usage of two processes in the same time.
func (s Spent) Plus(o Spent) Spent {
	return Spent{
		CPU: s.CPU + o.CPU, Wall: max(s.Wall, o.Wall),
		Written: s.Written + o.Written, WritesKnown: s.WritesKnown && o.WritesKnown,
	}
}
