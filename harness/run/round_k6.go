package run

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pronybench/prony/harness/k6run"
	"github.com/pronybench/prony/harness/load"
	"github.com/pronybench/prony/harness/result"
)

// scripted is the generator that runs a script in a k6 process. The script is the only workload of
// the round.
type scripted struct {
	of      *loads
	round   uint64 // ID of its ledger
	began   time.Time
	process atomic.Pointer[k6run.Process] // nil until it has started
	ended   *k6run.Ended                  // nil until the load has ended without an error
}

func newScripted(l *loads, round uint64) *scripted {
	return &scripted{of: l, round: round, began: time.Now()}
}

func (s *scripted) load(ctx context.Context, _ *injection, hooks load.Hooks) (outcomes []*load.Outcome, err error) {
	r := s.of.runner
	target := targetOf(s.of.cluster, s.of.workloads[0])
	log := func(what string) string {
		return r.folder.File(filepath.Join(logsDir, fmt.Sprintf("k6-%02d%s.log", s.of.number, what)))
	}
	process, err := k6run.Start(ctx, k6run.Config{
		Binary: r.options.K6, Plan: k6run.Plan{Round: s.round, Workload: s.of.workloads[0], Phases: r.scenario.Phases},
		Address: target.Address, Admin: admin(s.of.cluster, s.of.cluster.Servers()[0]).Address, Token: target.Token, CA: target.CA,
		LogPath: log(""), SummaryPath: log("-summary"),
	})
	if err != nil {
		return nil, err
	}
	s.process.Store(process)
	defer func() { err = errors.Join(err, process.Close()) }()
	s.ended, err = process.Run(ctx, hooks)
	if err != nil {
		return nil, err
	}
	return []*load.Outcome{s.ended.Outcome}, nil
}

// count returns the numbers that the script reported last. The script reports them four times a
// second.
func (s *scripted) count() count {
	c := count{at: s.began}
	if p := s.process.Load(); p != nil {
		if now, at := p.Progress(); !at.IsZero() {
			c = count{completed: now.Completed, at: at, outstanding: []float64{float64(now.Outstanding)}}
		}
	}
	return c
}

// balance returns the balance of k6's ledger, which k6 sends after its load has ended.
func (s *scripted) balance() result.Ledger {
	if s.ended == nil {
		return result.Ledger{}
	}
	return s.ended.Ledger
}

func (s *scripted) pid() int { return s.process.Load().PID() }

// judge makes crossed thresholds of the script and failed calls faults of the round.
func (s *scripted) judge(o *outcomes, m *measured) {
	if s.ended.Thresholds != "" {
		m.fault(result.Regressed, "k6: "+s.ended.Thresholds)
	}
	if failed := o.sum(failedCalls); failed.Count > 0 {
		m.broken = true
		m.fault(result.Invalid, fmt.Sprintf("the load failed: %d calls of the script failed; the first: %s",
			failed.Count, strings.TrimSpace(failed.First)))
	}
}
