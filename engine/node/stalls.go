package node

import (
	"net/http"
	"time"

	"github.com/pronybench/prony/engine/internal/stages"
	"github.com/pronybench/prony/engine/internal/stalls"
)

// stallsPage is the answer of GET /debug/stalls. Times are milliseconds; moments are of the Unix epoch.
type stallsPage struct {
	NowMs  float64 `json:"now_ms"`
	SlowMs float64 `json:"slow_ms"` // a commit that took longer is recorded
	// CommitsTotal counts since the process began; Commits are the last of them. WorkTotal and Work likewise.
	CommitsTotal uint64       `json:"commits_total"`
	Commits      []slowCommit `json:"commits"`
	WorkTotal    uint64       `json:"work_total"`
	Work         []storeWork  `json:"work"`
}

type slowCommit struct {
	BeganMs  float64 `json:"began_ms"`
	TookMs   float64 `json:"took_ms"`
	Shard    int     `json:"shard"`
	Commands int     `json:"commands"`
	// Cause took the largest part of the time. CausesMs divides all of it; causes without a part are left out.
	Cause    string             `json:"cause"`
	CausesMs map[string]float64 `json:"causes_ms"`
	// What ran during the commit, and for how long, at most the commit's time.
	FlushMs      float64 `json:"flush_ms"`
	CompactionMs float64 `json:"compaction_ms"`
	FsyncMs      float64 `json:"fsync_ms"`
	AppendMs     float64 `json:"append_ms"`   // slow appends to the Raft log
	Collections  int     `json:"collections"` // garbage collections that ended
	// SchedulerWaitMs is how long a goroutine waited at least for a processor in the last SchedulerOverMs before the commit's end. Both are 0 if it is not known.
	SchedulerWaitMs float64 `json:"scheduler_wait_ms"`
	SchedulerOverMs float64 `json:"scheduler_over_ms"`
}

type storeWork struct {
	Kind    string  `json:"kind"`  // flush, compaction, fsync of 1 ms and more, append of more than SlowMs
	Store   string  `json:"store"` // its folder's name: that of a shard, or raft
	BeganMs float64 `json:"began_ms"`
	TookMs  float64 `json:"took_ms"` // so far, if it is under way
	Running bool    `json:"running,omitempty"`
}

// slowCommits answers with the slow commits, and with the work of the stores.
func (n *Node) slowCommits(w http.ResponseWriter, _ *http.Request) {
	now := stages.Now()
	origin := time.Now().Add(-now)
	at := func(d time.Duration) float64 { return float64(origin.Add(d).UnixMicro()) / 1e3 }
	r := n.stalls.Record()
	page := stallsPage{
		NowMs: at(now), SlowMs: millis(stalls.Slow), CommitsTotal: r.CommitsTotal, Commits: []slowCommit{}, WorkTotal: r.SpansTotal, Work: []storeWork{},
	}
	for _, c := range r.Commits {
		s := slowCommit{
			BeganMs: at(c.Began), TookMs: millis(c.Ended - c.Began), Shard: c.Shard, Commands: c.Commands, Cause: c.Cause.String(), CausesMs: map[string]float64{},
			FlushMs: millis(c.Ran.Flush), CompactionMs: millis(c.Ran.Compaction), FsyncMs: millis(c.Ran.Fsync), AppendMs: millis(c.Ran.Append),
			Collections: c.Ran.Collections, SchedulerWaitMs: millis(c.Ran.Waited), SchedulerOverMs: millis(c.Ran.Over),
		}
		for cause, part := range c.ByCause {
			if part > 0 {
				s.CausesMs[stalls.Cause(cause).String()] = millis(part)
			}
		}
		page.Commits = append(page.Commits, s)
	}
	for _, s := range r.Spans {
		work := storeWork{Kind: string(s.Kind), Store: s.Store, BeganMs: at(s.Began), TookMs: millis(s.Ended - s.Began), Running: s.Ended == 0}
		if work.Running {
			work.TookMs = max(0, millis(now-s.Began))
		}
		page.Work = append(page.Work, work)
	}
	writeJSON(w, page)
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }
