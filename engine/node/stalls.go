package node

import (
	"net/http"
	"time"

	"github.com/pronybench/prony/engine/adminjson"
	"github.com/pronybench/prony/engine/internal/stages"
	"github.com/pronybench/prony/engine/internal/stalls"
)

func (n *Node) slowCommits(w http.ResponseWriter, _ *http.Request) {
	now := stages.Now()
	origin := time.Now().Add(-now)
	at := func(d time.Duration) float64 { return float64(origin.Add(d).UnixMicro()) / 1e3 }
	r := n.stalls.Record()
	page := adminjson.Stalls{
		NowMs: at(now), SlowMs: millis(stalls.Slow), CommitsTotal: r.CommitsTotal, Commits: []adminjson.SlowCommit{}, WorkTotal: r.SpansTotal, Work: []adminjson.StoreWork{},
	}
	for _, c := range r.Commits {
		s := adminjson.SlowCommit{
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
		work := adminjson.StoreWork{Kind: string(s.Kind), Store: s.Store, BeganMs: at(s.Began), TookMs: millis(s.Ended - s.Began), Running: s.Ended == 0}
		if work.Running {
			work.TookMs = max(0, millis(now-s.Began))
		}
		page.Work = append(page.Work, work)
	}
	writeJSON(w, page)
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }
