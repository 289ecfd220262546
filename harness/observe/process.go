package observe

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// ProcessCPU returns the CPU time, user and system, that the process pid has used since it began,
// in all its threads, ended ones included. It reads the process's CPU clock, which counts
// nanoseconds; where the kernel refuses that, it falls back to /proc, which counts hundredths of a
// second. The process must not have been reaped.
func ProcessCPU(pid int) (time.Duration, error) {
	if pid <= 0 {
		return 0, fmt.Errorf("CPU time of process %d: a process id is positive", pid)
	}
	clock := int32(unix.CLOCK_PROCESS_CPUTIME_ID)
	if pid != os.Getpid() {
		clock = processClock(pid)
	}
	var t unix.Timespec
	clockErr := unix.ClockGettime(clock, &t)
	if clockErr == nil {
		return time.Duration(t.Nano()), nil
	}
	used, err := statCPU(pid)
	if err != nil {
		return 0, fmt.Errorf("CPU time of process %d: %w", pid, errors.Join(clockErr, err))
	}
	return used, nil
}

// processClock returns the id of pid's CPU clock as clock_getcpuclockid(3) would: the complement of
// the process id above three bits, of which 2 selects the scheduler's clock of the whole process.
func processClock(pid int) int32 {
	return int32(^pid)<<3 | 2
}

func statCPU(pid int) (time.Duration, error) {
	proc, err := procfs.NewProc(pid)
	if err != nil {
		return 0, err
	}
	stat, err := proc.Stat()
	if err != nil {
		return 0, err
	}
	return time.Duration(stat.CPUTime() * float64(time.Second)), nil
}

// RSS returns the resident set of the process pid, in bytes.
func RSS(pid int) (uint64, error) {
	proc, err := procfs.NewProc(pid)
	if err != nil {
		return 0, fmt.Errorf("memory of process %d: %w", pid, err)
	}
	stat, err := proc.Stat()
	if err != nil {
		return 0, fmt.Errorf("memory of process %d: %w", pid, err)
	}
	return uint64(stat.ResidentMemory()), nil
}

// PeakRSS returns the largest resident set of the process pid since it began or since the last
// ResetPeak, in bytes.
func PeakRSS(pid int) (uint64, error) {
	proc, err := procfs.NewProc(pid)
	if err != nil {
		return 0, fmt.Errorf("peak memory of process %d: %w", pid, err)
	}
	status, err := proc.NewStatus()
	if err != nil {
		return 0, fmt.Errorf("peak memory of process %d: %w", pid, err)
	}
	if status.VmHWM == 0 {
		return 0, fmt.Errorf("peak memory of process %d: /proc/%d/status has no VmHWM; the process has ended or the kernel does not count it", pid, pid)
	}
	return status.VmHWM, nil
}

// ResetPeak makes PeakRSS of the process pid start again from its present resident set. Kernels and
// sandboxes may refuse it; PeakRSS then goes on covering the process's whole life.
func ResetPeak(pid int) error {
	path := "/proc/" + strconv.Itoa(pid) + "/clear_refs"
	file, err := os.OpenFile(path, os.O_WRONLY, 0) // no O_CREATE: a missing process is an error
	if err != nil {
		return fmt.Errorf("reset peak memory of process %d: %w", pid, err)
	}
	_, err = file.WriteString("5")
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("reset peak memory of process %d: %w", pid, err)
	}
	return nil
}

// FDs returns how many file descriptors the process pid has open.
func FDs(pid int) (int, error) {
	proc, err := procfs.NewProc(pid)
	if err != nil {
		return 0, fmt.Errorf("file descriptors of process %d: %w", pid, err)
	}
	n, err := proc.FileDescriptorsLen()
	if err != nil {
		return 0, fmt.Errorf("file descriptors of process %d: %w", pid, err)
	}
	return n, nil
}
