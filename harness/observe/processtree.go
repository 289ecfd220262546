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

// clockTicks is how many of the units that /proc counts CPU time in make a second.
const clockTicks = 100

// Tree is some processes with all that they have started and that still run.
type Tree struct{ pids []int }

// TreeOf finds the processes below roots, and the roots. A root that has ended is left out.
func TreeOf(roots []int) (Tree, error) {
	all, err := procfs.AllProcs()
	if err != nil {
		return Tree{}, fmt.Errorf("list the processes: %w", err)
	}
	below := map[int][]int{}
	for _, p := range all {
		stat, err := p.Stat()
		if err != nil {
			continue // it has ended meanwhile
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

// PIDs are the processes, roots first.
func (t Tree) PIDs() []int { return slices.Clone(t.pids) }

// Sample reads what the processes have used up to now, with those below them that have ended. What has ended counts in hundredths of a second. The
// bytes written are those of processes that run.
func (t Tree) Sample() (Usage, error) {
	sum := Usage{WritesKnown: len(t.pids) > 0}
	for _, pid := range t.pids {
		u, err := Sample(pid)
		if err != nil {
			continue // it has ended meanwhile, and counts in the process above it
		}
		ended, err := endedBelow(pid)
		if err != nil {
			continue
		}
		sum.CPU += u.CPU + ended
		sum.Written += u.Written
		sum.WritesKnown = sum.WritesKnown && u.WritesKnown
	}
	sum.At = time.Now()
	return sum, nil
}

// endedBelow is the CPU time of the children of a process that have ended and that it has waited for.
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

// ResetPeaks has Peak begin anew, as ResetPeak does of one process.
func (t Tree) ResetPeaks() error {
	for _, pid := range t.pids {
		if err := ResetPeak(pid); err != nil {
			return err
		}
	}
	return nil
}

// Memory returns the peak of the memory of a single process, as PeakRSS does. Several processes share memory: of those it is what they have together
// now, with what they share counted once, and now is set.
func (t Tree) Memory() (bytes uint64, now bool, err error) {
	if len(t.pids) == 1 {
		bytes, err = PeakRSS(t.pids[0])
		return bytes, false, err
	}
	for _, pid := range t.pids {
		proc, err := procfs.NewProc(pid)
		if err != nil {
			continue // it has ended meanwhile
		}
		rollup, err := proc.ProcSMapsRollup()
		if errors.Is(err, syscall.ESRCH) || errors.Is(err, fs.ErrNotExist) {
			continue // likewise, whether or not the process above it has waited for it
		}
		if err != nil {
			return 0, true, fmt.Errorf("memory of process %d: %w", pid, err)
		}
		bytes += rollup.Pss
	}
	return bytes, true, nil
}
