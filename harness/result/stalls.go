package result

import (
	"cmp"
	"slices"
)

// Maximum lengths of the lists in a round's Stalls.
const (
	slowCommitsMax = 100
	storeWorkMax   = 200
)

// Stalls lists the slow commits of the servers in a round's window, and what their stores did at
// the same time.
type Stalls struct {
	SlowMs float64 `json:"slow_ms"` // a commit is slow if it took longer
	// Causes include all slow commits between the readings of the counters before and after the
	// window. The cause with the most time is first.
	Causes []StallCause `json:"causes,omitempty"`
	// Commits are the longest slow commits that ended in the window, in the order of their start.
	// Missing is the number of slow commits that are not listed.
	Commits []SlowCommit `json:"commits,omitempty"`
	Missing uint64       `json:"missing,omitempty"`
	// Work are the longest flushes, compactions, fsyncs and appends that ran in the window, in the
	// order of their start.
	Work []StoreWork `json:"work,omitempty"`
}

// StallCause is a cause of slow commits.
type StallCause struct {
	Cause   string  `json:"cause"`
	Commits uint64  `json:"commits"` // slow commits in which the cause took the largest part
	Ms      float64 `json:"ms"`      // over all slow commits
}

// SlowCommit is a slow commit. AtS is relative to the start of the window.
type SlowCommit struct {
	AtS      float64 `json:"at_s"` // start
	Ms       float64 `json:"ms"`
	Node     string  `json:"node,omitempty"` // of a cluster
	Shard    int     `json:"shard"`
	Commands int     `json:"commands"`
	// Cause took the largest part of the time. CausesMs splits all of the time by cause.
	Cause    string             `json:"cause"`
	CausesMs map[string]float64 `json:"causes_ms"`
	// Concurrent activities and their durations.
	FlushMs      float64 `json:"flush_ms,omitempty"`
	CompactionMs float64 `json:"compaction_ms,omitempty"`
	FsyncMs      float64 `json:"fsync_ms,omitempty"`
	AppendMs     float64 `json:"append_ms,omitempty"`   // slow appends to the node's Raft log
	Collections  int     `json:"collections,omitempty"` // garbage collections that ended
	// SchedulerMs is a lower bound of how long a goroutine waited for a processor during the last
	// SchedulerOverMs milliseconds before the end of the commit.
	SchedulerMs     float64 `json:"scheduler_ms,omitempty"`
	SchedulerOverMs float64 `json:"scheduler_over_ms,omitempty"`
}

// StoreWork is work of a store. AtS is relative to the start of the window, and negative for work
// that started before it.
type StoreWork struct {
	Kind  string  `json:"kind"` // "flush", "compaction", "fsync" or "append"
	Node  string  `json:"node,omitempty"`
	Store string  `json:"store"` // the number of its shard, or "raft"
	AtS   float64 `json:"at_s"`
	Ms    float64 `json:"ms"`
}

// StallsOf returns the slow commits that ended in a window of the given length, and the work that
// ran in it. missed is the number of slow commits that the servers had already discarded.
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

// longest returns the longest elements in the order of their start. most is their maximum number.
// longest reorders all.
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

// MergeStallCauses adds up the causes of slow commits over rounds.
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
