package observe

import (
	"cmp"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/pronybench/prony/harness/result"
)

const (
	// foreignNamed bounds the named foreign processes.
	foreignNamed = 3
	// foreignLeastPercent is the share of all CPUs' time below which a foreign process is not
	// named.
	foreignLeastPercent = 1.0
)

type processTimes struct {
	name    string // comm, never the command line, which may contain secrets
	parent  int
	started uint64 // distinguishes it from a later process with the same number
	// CPU time of the process, and of its ended children that it has waited for.
	cpu time.Duration
}

// processes reads the times of all processes. It returns nil without /proc.
func (h hostFiles) processes() map[int]processTimes {
	if h.proc == nil {
		return nil
	}
	all, err := h.proc.AllProcs()
	if err != nil {
		return nil
	}
	times := make(map[int]processTimes, len(all))
	for _, p := range all {
		stat, err := p.Stat()
		if err != nil {
			continue // the process has ended
		}
		ticks := time.Duration(stat.UTime+stat.STime) + time.Duration(stat.CUTime+stat.CSTime)
		times[p.PID] = processTimes{name: stat.Comm, parent: stat.PPID, started: stat.Starttime, cpu: ticks * time.Second / clockTicks}
	}
	return times
}

// foreign returns the processes that used the most CPU time between two readings, except those that
// own reports. Processes that started and ended in between count for the parent that waited for
// them. all is the time of all CPUs.
func foreign(before, after map[int]processTimes, own func(pid int) bool, all time.Duration) (named []result.ForeignProcess) {
	used := map[int]time.Duration{}
	for pid, now := range after {
		used[pid] += now.cpu
		if was, known := before[pid]; known && was.started == now.started {
			used[pid] -= was.cpu
		}
	}
	for pid, was := range before {
		if now, still := after[pid]; still && was.started == now.started {
			continue
		}
		// The parent's time now includes the child's time before the first reading.
		used[was.parent] -= was.cpu
	}
	byName := map[string]time.Duration{}
	for pid, d := range used {
		if p, still := after[pid]; still && d > 0 && !own(pid) {
			byName[p.name] += d
		}
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		if share := percent(float64(byName[name]), float64(all)); share != nil && *share >= foreignLeastPercent {
			named = append(named, result.ForeignProcess{Name: name, CPUPercent: *share})
		}
	}
	slices.SortStableFunc(named, func(a, b result.ForeignProcess) int { return cmp.Compare(b.CPUPercent, a.CPUPercent) })
	return named[:min(foreignNamed, len(named))]
}

// below reports whether a process is root or one of its descendants.
func below(all map[int]processTimes, pid, root int) bool {
	// Processes are not read atomically, so their parents might form a cycle.
	for range len(all) + 1 {
		if pid == root {
			return true
		}
		p, known := all[pid]
		if !known {
			return false
		}
		pid = p.parent
	}
	return false
}

// foreignProcesses names the processes that do not belong to the run.
func (w *Watch) foreignProcesses(all time.Duration) []result.ForeignProcess {
	self, after := os.Getpid(), w.host.processes()
	own := func(pid int) bool { return below(after, pid, self) }
	if w.config.OwnProcesses != nil {
		pids := append(w.config.OwnProcesses(), self)
		own = func(pid int) bool { return slices.Contains(pids, pid) }
	}
	return foreign(w.before, after, own, all)
}
