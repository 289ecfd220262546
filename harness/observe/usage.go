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
	// is written back. WritesKnown reports whether the kernel reports this number.
	Written     uint64
	WritesKnown bool
	At          time.Time // time of the reading, with a monotonic reading
}

// Spent is the resource usage of a process between two samples.
type Spent struct {
	CPU         time.Duration
	Written     uint64 // bytes
	WritesKnown bool
	Wall        time.Duration // measured by the monotonic clock
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

// CPUMicrosecondsPer returns the CPU time per cycle in microseconds. It returns an error if cycles
// is 0.
func (s Spent) CPUMicrosecondsPer(cycles uint64) (float64, error) {
	if cycles == 0 {
		return 0, errors.New("CPU time per cycle: no cycle was counted")
	}
	return float64(s.CPU) / float64(time.Microsecond) / float64(cycles), nil
}

// WrittenBytesPer returns the number of bytes written to storage per cycle. known is false if the
// number of bytes is unknown or cycles is 0.
func (s Spent) WrittenBytesPer(cycles uint64) (bytes float64, known bool) {
	if cycles == 0 || !s.WritesKnown {
		return 0, false
	}
	return float64(s.Written) / float64(cycles), true
}

// Plus returns the total usage of two processes during the same time.
func (s Spent) Plus(o Spent) Spent {
	return Spent{
		CPU: s.CPU + o.CPU, Wall: max(s.Wall, o.Wall),
		Written: s.Written + o.Written, WritesKnown: s.WritesKnown && o.WritesKnown,
	}
}
