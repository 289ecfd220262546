package result

import (
	"cmp"
	"slices"
)

// Bounds of what a round lists.
const (
	slowCommitsMax = 100
	storeWorkMax   = 200
)

// Stalls are the slow commits of the servers in a round's window, and the work of their stores beside them.
type Stalls struct {
	SlowMs float64 `json:"slow_ms"` // a commit is slow if it took longer
	// Causes are of all slow commits from the reading of the counters before the window until the one after it, the cause with the most time first.
	Causes []StallCause `json:"causes,omitempty"`
	// Commits are the longest slow commits that ended in the window, by their begin. Missing is how many others there were.
	Commits []SlowCommit `json:"commits,omitempty"`
	Missing uint64       `json:"missing,omitempty"`
	// Work are the longest flushes, compactions, fsyncs and appends that ran in the window, by their begin.
	Work []StoreWork `json:"work,omitempty"`
}

// StallCause is what slow commits spent their time on.
type StallCause struct {
	Cause   string  `json:"cause"`
	Commits uint64  `json:"commits"` // of which the cause took the largest part
	Ms      float64 `json:"ms"`      // of all slow commits together
}

// SlowCommit is a slow commit. AtS counts from the window's begin.
type SlowCommit struct {
	AtS      float64 `json:"at_s"` // its begin
	Ms       float64 `json:"ms"`
	Node     string  `json:"node,omitempty"` // of a cluster
	Shard    int     `json:"shard"`
	Commands int     `json:"commands"`
	// Cause took the largest part of the time. CausesMs divides all of it.
	Cause    string             `json:"cause"`
	CausesMs map[string]float64 `json:"causes_ms"`
	// What ran during the commit, and for how long.
	FlushMs      float64 `json:"flush_ms,omitempty"`
	CompactionMs float64 `json:"compaction_ms,omitempty"`
	FsyncMs      float64 `json:"fsync_ms,omitempty"`
	AppendMs     float64 `json:"append_ms,omitempty"`   // slow appends to the node's Raft log
	Collections  int     `json:"collections,omitempty"` // garbage collections that ended
	// SchedulerMs is how long a goroutine waited at least for a processor, in the last SchedulerOverMs before the commit's end.
	SchedulerMs     float64 `json:"scheduler_ms,omitempty"`
	SchedulerOverMs float64 `json:"scheduler_over_ms,omitempty"`
}

// StoreWork is work of a store. AtS counts from the window's begin, and is below 0 of work that began before it.
type StoreWork struct {
	Kind  string  `json:"kind"` // "flush", "compaction", "fsync" or "append"
	Node  string  `json:"node,omitempty"`
	Store string  `json:"store"` // the number of its shard, or "raft"
	AtS   float64 `json:"at_s"`
	Ms    float64 `json:"ms"`
}

// StallsOf returns the slow commits that ended in a window of so many seconds, and the work that ran in it. missed is how many slow commits
// a server no longer knew of.
func StallsOf(slowMs, windowS float64, causes []StallCause, commits []SlowCommit, work []StoreWork, missed uint64) *Stalls {
	ended := func(atS, ms float64) float64 { return atS + ms/1e3 }
	commits = slices.DeleteFunc(slices.Clone(commits), func(c SlowCommit) bool { end := ended(c.AtS, c.Ms); return end < 0 || end > windowS })
	work = slices.DeleteFunc(slices.Clone(work), func(w StoreWork) bool { return ended(w.AtS, w.Ms) < 0 || w.AtS > windowS })
	s := &Stalls{SlowMs: slowMs, Missing: missed + uint64(max(0, len(commits)-slowCommitsMax))}
	s.Commits = longest(commits, slowCommitsMax, func(c SlowCommit) float64 { return c.Ms }, func(c SlowCommit) float64 { return c.AtS })
	s.Work = longest(work, storeWorkMax, func(w StoreWork) float64 { return w.Ms }, func(w StoreWork) float64 { return w.AtS })
	s.Causes = slices.DeleteFunc(slices.Clone(causes), func(c StallCause) bool { return c.Commits == 0 && c.Ms <= 0 })
	sortCauses(s.Causes)
	return s
}

// longest keeps the longest of all, in the order of their begins.
func longest[T any](all []T, most int, ms, at func(T) float64) []T {
	slices.SortStableFunc(all, func(a, b T) int { return cmp.Compare(ms(b), ms(a)) })
	all = slices.Clip(all[:min(len(all), most)])
	slices.SortStableFunc(all, func(a, b T) int { return cmp.Compare(at(a), at(b)) })
	return all
}

func sortCauses(all []StallCause) {
	slices.SortStableFunc(all, func(a, b StallCause) int {
		return cmp.Or(cmp.Compare(b.Ms, a.Ms), cmp.Compare(b.Commits, a.Commits), cmp.Compare(a.Cause, b.Cause))
	})
}

// MergeStallCauses adds up the causes of rounds.
func MergeStallCauses(rounds []Round) []StallCause {
	var merged []StallCause
	for _, r := range rounds {
		if r.Stalls == nil {
			continue
		}
		for _, c := range r.Stalls.Causes {
			if k := slices.IndexFunc(merged, func(m StallCause) bool { return m.Cause == c.Cause }); k >= 0 {
				merged[k].Commits, merged[k].Ms = merged[k].Commits+c.Commits, merged[k].Ms+c.Ms
				continue
			}
			merged = append(merged, c)
		}
	}
	sortCauses(merged)
	return merged
}
