package run

import (
	"context"
	"fmt"
	"slices"

	"github.com/pronybench/prony/harness/audit"
	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/topology"
)

// checkLedger judges the round's account, and the server's own where the scenario asks for it.
func (r *runner) checkLedger(ctx context.Context, cluster *topology.Cluster, o *outcomes, m *measured) {
	m.checkBalance()
	if !o.drained() {
		m.fault(result.Incorrect, fmt.Sprintf("not all tasks were completed %v after the window", r.scenario.Phases.Drain))
	}
	if refused := o.sum(refusedCompletions); refused.Count > 0 {
		text := fmt.Sprintf("the server refused %d completions of tasks that it had leased: %s", refused.Count, refused.First)
		if m.round.Faults == nil {
			m.fault(result.Incorrect, text)
		} else { // as it must where a lease has ended meanwhile; the task is still to be completed
			m.warnings = append(m.warnings, fmt.Sprintf("round %d: %s", m.round.Number, text))
		}
	}
	if refused := o.sum(refusedEnqueues); refused.Count > 0 {
		m.warnings = append(m.warnings, fmt.Sprintf("round %d: the server refused %d enqueues: %s", m.round.Number, refused.Count, refused.First))
	}
	if err := scrapeRound(ctx, cluster, &m.round); err != nil {
		m.fault(result.Invalid, err.Error())
		return
	}
	conserved := slices.Contains(r.scenario.Invariants, scenario.Invariant{Kind: scenario.Conserved})
	// Tasks that no worker claims are not lost only if the servers still hold them.
	if (conserved || scenario.Any(o.workloads, scenario.Workload.EnqueuesAlone)) && len(cluster.Servers()) > 0 {
		r.checkConserved(ctx, cluster, m)
	}
}

// checkBalance judges the ledger alone.
func (m *measured) checkBalance() {
	for _, problem := range audit.Balance(&m.round.Ledger) {
		m.fault(result.Incorrect, problem)
	}
}

// checkConserved holds the server's account against itself and against the ledger. The tasks are counted one
// by one in the store, since a counter can be wrong in the same way as what it counts. What was there before the round is left out.
func (r *runner) checkConserved(ctx context.Context, cluster *topology.Cluster, m *measured) {
	counts, err := audit.ReadSince(ctx, cluster, m.before)
	if err != nil {
		m.fault(result.Invalid, fmt.Sprintf("the server could not be audited: %v", err))
		return
	}
	m.judgeConserved(counts, r.before, &m.round.Ledger)
}

func (m *measured) judgeConserved(counts, before observe.Counts, l *result.Ledger) {
	counts, err := counts.Since(before)
	if err != nil {
		m.fault(result.Incorrect, "not conserved: "+err.Error())
		return
	}
	for _, problem := range audit.Conserved(counts, l) {
		m.fault(result.Incorrect, "not conserved: "+problem)
	}
}

// scrapeRound keeps what the servers that run have counted: of a cluster each node's, and their sum.
func scrapeRound(ctx context.Context, cluster *topology.Cluster, round *result.Round) error {
	sum := map[string]float64{}
	for i, s := range cluster.Servers() {
		if !s.Running() {
			continue
		}
		counters, err := observe.Scrape(ctx, admin(cluster, s))
		if err != nil {
			return err
		}
		for name, v := range counters {
			observe.Combine(sum, name, v)
		}
		if i < len(round.Nodes) {
			round.Nodes[i].Server = counters
		}
	}
	round.Server = sum
	return nil
}
