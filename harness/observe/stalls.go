package observe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/pronybench/prony/engine/adminjson"
	"github.com/pronybench/prony/harness/adminhttp"
	"github.com/pronybench/prony/harness/result"
)

const (
	stallsTimeout  = 10 * time.Second
	stallsBytesMax = 8 << 20
)

// Stalls contains the latest slow commits of a server and the latest work of its stores. AtS is a
// Unix time in seconds, by the clock of this process.
type Stalls struct {
	SlowMs  float64
	Commits []result.SlowCommit
	Work    []result.StoreWork
	// Total is the number of slow commits since the start of the server's process.
	Total uint64
}

// ReadStalls reads the slow commits of a server. It returns nil if the server does not record them.
// It takes at most ten seconds and reads at most 8 MiB.
func ReadStalls(ctx context.Context, admin adminhttp.Client) (*Stalls, error) {
	body, err := admin.Get(ctx, "/debug/stalls", stallsTimeout, stallsBytesMax)
	var status adminhttp.StatusError
	if errors.As(err, &status) && status.Code == http.StatusNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the slow commits: %w", err)
	}
	return parseStalls(body, time.Now())
}

// parseStalls parses an answer that was received at the time now. It shifts the times in the answer
// by the difference between the server's clock and the clock of this process.
func parseStalls(body []byte, now time.Time) (*Stalls, error) {
	var a adminjson.Stalls
	if err := json.Unmarshal(body, &a); err != nil {
		return nil, fmt.Errorf("read the slow commits: %w", err)
	}
	at := func(ms float64) float64 { return float64(now.UnixMicro())/1e6 - (a.NowMs-ms)/1e3 }
	s := &Stalls{SlowMs: a.SlowMs, Total: a.CommitsTotal}
	for _, c := range a.Commits {
		s.Commits = append(s.Commits, result.SlowCommit{
			AtS: at(c.BeganMs), Ms: c.TookMs, Shard: c.Shard, Commands: c.Commands, Cause: c.Cause, CausesMs: c.CausesMs,
			FlushMs: c.FlushMs, CompactionMs: c.CompactionMs, FsyncMs: c.FsyncMs, AppendMs: c.AppendMs,
			Collections: c.Collections, SchedulerMs: c.SchedulerWaitMs, SchedulerOverMs: c.SchedulerOverMs,
		})
	}
	for _, w := range a.Work {
		s.Work = append(s.Work, result.StoreWork{Kind: w.Kind, Store: w.Store, AtS: at(w.BeganMs), Ms: w.TookMs})
	}
	return s, nil
}
