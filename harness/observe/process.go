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

// ProcessCPU returns the user and system CPU time that the process pid has used since its start,
// including its ended threads. It reads the CPU clock of the process, which has nanosecond
// resolution. If the kernel refuses this, it reads /proc, which has a resolution of a hundredth of
// a second. The process must not have been reaped.
func ProcessCPU(pid int) (time.Duration, error) {
	if pid <= 0 {
		return 0, fmt.Errorf("CPU time of process %d: expected a positive process id", pid)
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

// processClock returns the ID of pid's CPU clock, as clock_getcpuclockid(3) does. The ID is the
// complement of the process ID, shifted left by three bits. The lowest bits are 2, which selects
// the scheduler's clock of the whole process.
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

// RSS returns the size of the resident set of the process pid, in bytes.
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

// PeakRSS returns the maximum size of the resident set of the process pid since its start or since
// the last ResetPeak, in bytes.
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

// ResetPeak makes PeakRSS of the process pid restart from the current resident set. Kernels and
// sandboxes may refuse this. PeakRSS then continues to include the whole life of the process.
func ResetPeak(pid int) error {
	path := "/proc/" + strconv.Itoa(pid) + "/clear_refs"
	// without O_CREATE, so that a missing process is an error
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("reset peak memory of process %d: %w", pid, err)
	}
	_, err = file.WriteString("5")
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("reset peak memory of process %d: %w", pid, err)
	}
	return nil
}

// FDs returns the number of open file descriptors of the process pid.
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
