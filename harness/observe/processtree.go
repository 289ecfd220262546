package observe

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"syscall"
	"time"

	"github.com/prometheus/procfs"
)

// clockTicks is the number of /proc's units of CPU time per second.
const clockTicks = 100

// Tree is a set of processes and all of their running descendants.
type Tree struct{ pids []int }

// TreeOf returns the tree that consists of roots and their descendants. It leaves out roots that
// have ended.
func TreeOf(roots []int) (Tree, error) {
	all, err := procfs.AllProcs()
	if err != nil {
		return Tree{}, fmt.Errorf("list the processes: %w", err)
	}
	below := map[int][]int{}
	for _, p := range all {
		stat, err := p.Stat()
		if err != nil {
			continue // the process has ended
		}
		below[stat.PPID] = append(below[stat.PPID], p.PID)
		if slices.Contains(roots, p.PID) {
			below[-1] = append(below[-1], p.PID)
		}
	}
	var t Tree
	for next := below[-1]; len(next) > 0; next = next[1:] {
		if pid := next[0]; !slices.Contains(t.pids, pid) {
			t.pids = append(t.pids, pid)
			next = append(slices.Clip(next), below[pid]...)
		}
	}
	return t, nil
}

// PIDs returns the process IDs, roots first.
func (t Tree) PIDs() []int { return slices.Clone(t.pids) }

// Sample returns the total resource usage of the processes so far. It includes the CPU time of
// their ended descendants, which has a resolution of a hundredth of a second. It includes the
// counts only of running processes.
func (t Tree) Sample() (Usage, error) {
	some := Count{Known: len(t.pids) > 0}
	sum := Usage{Written: some, Switches: some}
	for _, pid := range t.pids {
		u, err := Sample(pid)
		if err != nil {
			continue // the process has ended, and its time counts for its parent
		}
		ended, err := endedBelow(pid)
		if err != nil {
			continue
		}
		sum.CPU += u.CPU + ended
		sum.Written, sum.Switches = sum.Written.plus(u.Written), sum.Switches.plus(u.Switches)
	}
	sum.At = time.Now()
	return sum, nil
}

// endedBelow returns the CPU time of the ended children that a process has waited for.
func endedBelow(pid int) (time.Duration, error) {
	proc, err := procfs.NewProc(pid)
	if err != nil {
		return 0, err
	}
	stat, err := proc.Stat()
	if err != nil {
		return 0, err
	}
	return time.Duration(stat.CUTime+stat.CSTime) * time.Second / clockTicks, nil
}

// ResetPeaks calls ResetPeak for each process.
func (t Tree) ResetPeaks() error {
	for _, pid := range t.pids {
		if err := ResetPeak(pid); err != nil {
			return err
		}
	}
	return nil
}

// Memory returns the peak memory of a tree with a single process, as PeakRSS does. Several
// processes share memory, so for a larger tree it returns the current total memory instead, and now
// is true. Shared memory is then counted once.
func (t Tree) Memory() (bytes uint64, now bool, err error) {
	if len(t.pids) == 1 {
		bytes, err = PeakRSS(t.pids[0])
		return bytes, false, err
	}
	for _, pid := range t.pids {
		proc, err := procfs.NewProc(pid)
		if err != nil {
			continue // the process has ended
		}
		rollup, err := proc.ProcSMapsRollup()
		if errors.Is(err, syscall.ESRCH) || errors.Is(err, fs.ErrNotExist) {
			continue // the process has ended, whether or not its parent has waited for it
		}
		if err != nil {
			return 0, true, fmt.Errorf("memory of process %d: %w", pid, err)
		}
		bytes += rollup.Pss
	}
	return bytes, true, nil
}
