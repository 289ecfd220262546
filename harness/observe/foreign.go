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
	// foreignNamed bounds the number of foreign processes that are named.
	foreignNamed = 3
	// foreignLeastPercent is a share of the time of all CPUs, in percent. A foreign process that
	// uses less is not named.
	foreignLeastPercent = 1.0
)

type processTimes struct {
	name    string // name from comm; never the command line, which may contain secrets
	parent  int
	started uint64 // start time; distinguishes the process from a later process with the same ID
	// CPU time of the process, plus that of its ended children that it has waited for.
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

// foreign returns the processes that used the most CPU time between two readings. own reports
// whether a process belongs to the run; foreign ignores these processes. If a process started and
// ended between the readings, its time is added to the parent that waited for it. all is the time
// of all CPUs.
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
		// The parent's time now includes the whole time of the child, so the time before the first
		// reading must be subtracted.
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

func below(all map[int]processTimes, pid, root int) bool {
	// The list of processes is not read atomically, so the parents might form a cycle.
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

func (w *Watch) foreignProcesses(all time.Duration) []result.ForeignProcess {
	self, after := os.Getpid(), w.host.processes()
	own := func(pid int) bool { return below(after, pid, self) }
	if w.config.OwnProcesses != nil {
		pids := append(w.config.OwnProcesses(), self)
		own = func(pid int) bool { return slices.Contains(pids, pid) }
	}
	return foreign(w.before, after, own, all)
}
