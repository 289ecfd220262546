package observe

import (
	"errors"
	"time"
)

// Usage is what a process had used at one moment.
type Usage struct {
	CPU time.Duration // as ProcessCPU counts it
	At  time.Time     // when it was read; carries the monotonic clock
}

// Spent is what a process used between two samples.
type Spent struct {
	CPU  time.Duration
	Wall time.Duration // by the monotonic clock
}

// Sample reads what the process pid has used up to now.
func Sample(pid int) (Usage, error) {
	cpu, err := ProcessCPU(pid)
	if err != nil {
		return Usage{}, err
	}
	return Usage{CPU: cpu, At: time.Now()}, nil
}

// Since returns what was used from the earlier sample, of the same process, up to u.
func (u Usage) Since(earlier Usage) Spent {
	return Spent{CPU: u.CPU - earlier.CPU, Wall: u.At.Sub(earlier.At)}
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
