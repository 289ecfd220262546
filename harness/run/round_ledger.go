package run

import (
	"context"
	"fmt"
	"slices"

	"github.com/pronybench/prony/harness/audit"
	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/topology"
)

// checkLedger judges the round's account, and the server's own where the scenario asks for it.
func (r *runner) checkLedger(ctx context.Context, cluster *topology.Cluster, o *outcomes, m *measured) {
	left := r.takeLeft(ctx, cluster, o, m)
	m.checkBalance()
	switch {
	case left > 0:
		m.fault(result.Invalid, fmt.Sprintf("not all tasks were completed %v after the window: the servers still hold %s, and workers were "+
			"still completing them: lengthen phases.drain, or bound the backlog with in_flight", r.scenario.Phases.Drain, render.Plural(int(left), "task")))
	case !o.drained():
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
		text := fmt.Sprintf("the server refused %d enqueues: %s", refused.Count, refused.First)
		if o.workloads[0].Driver == scenario.DriverProgram && m.round.Faults == nil { // a rate with refusals is not compared with one without
			m.fault(result.Incorrect, text)
		} else {
			m.warnings = append(m.warnings, fmt.Sprintf("round %d: %s", m.round.Number, text))
		}
	}
	if err := scrapeRound(ctx, cluster, &m.round); err != nil {
		m.fault(result.Invalid, err.Error())
		return
	}
	conserved := slices.Contains(r.scenario.Invariants, scenario.Invariant{Kind: scenario.Conserved})
	// The servers must still hold tasks that no worker claims. If tasks are left, takeLeft has checked the servers' account already. A second
	// reading could differ, because pending completions may take effect after the first.
	if left == 0 && (conserved || scenario.Any(o.workloads, scenario.Workload.EnqueuesAlone)) && len(cluster.Servers()) > 0 {
		r.checkConserved(ctx, cluster, m)
	}
}

// takeLeft has the ledger count tasks as left instead of lost if the drain was too short for the backlog, and returns how many they are. They
// are left if workers completed tasks until the drain's time was up, and the servers' own account shows that no acknowledged task is missing.
// A round with faults waits for such tasks by itself.
func (r *runner) takeLeft(ctx context.Context, cluster *topology.Cluster, o *outcomes, m *measured) (left uint64) {
	if !o.draining() || m.round.Ledger.Lost == 0 || m.round.Faults != nil || len(cluster.Servers()) == 0 {
		return 0
	}
	counts, err := audit.ReadSince(ctx, cluster, m.before)
	if err == nil {
		counts, err = counts.Since(r.before)
	}
	if err != nil {
		m.warnings = append(m.warnings, fmt.Sprintf("round %d: whether the servers still hold what was not completed is not known: %v", m.round.Number, err))
		return 0
	}
	var underWay uint64
	for _, w := range o.workloads {
		underWay += uint64(w.Workers * w.ClaimBatch())
	}
	m.round.Ledger, left = leftOf(m.round.Ledger, counts, underWay)
	return left
}

// leftOf returns the ledger with the tasks left instead of lost that the servers hold by their own counts, and how many they are: none if
// the counts do not account for all that was acknowledged. Of the completions that were under way when the load was cut, each may have taken
// effect without an answer, and is in doubt then.
func leftOf(l result.Ledger, counts observe.Counts, underWay uint64) (result.Ledger, uint64) {
	doubted := l
	doubted.InDoubt += underWay
	left := min(l.Lost, counts.Ready+counts.Leased+counts.Delayed+counts.Dead)
	if left == 0 || len(audit.Conserved(counts, &doubted)) > 0 {
		return l, 0
	}
	inDoubt := l.InDoubt + l.Lost - left
	l = withoutLost(l)
	l.Left, l.InDoubt = l.Left+left, inDoubt
	return l, left
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
