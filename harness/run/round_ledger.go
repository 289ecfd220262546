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

// checkLedger judges the ledger of the round. It also judges the servers' account if the scenario
// asks for it.
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
		} else {
			// A refusal is expected if a lease expired during a fault. The task can still be
			// completed.
			m.warnings = append(m.warnings, fmt.Sprintf("round %d: %s", m.round.Number, text))
		}
	}
	if refused := o.sum(refusedEnqueues); refused.Count > 0 {
		text := fmt.Sprintf("the server refused %d enqueues: %s", refused.Count, refused.First)
		// A rate with refused enqueues is not comparable with a rate without.
		if o.workloads[0].Driver == scenario.DriverProgram && m.round.Faults == nil {
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
	// Tasks that no worker claims must still be on the servers. If left is above 0, takeLeft has
	// already checked the servers' account. A second reading could differ, because pending
	// completions may take effect after the first.
	if left == 0 && (conserved || scenario.Any(o.workloads, scenario.Workload.EnqueuesAlone)) && len(cluster.Servers()) > 0 {
		r.checkConserved(ctx, cluster, m)
	}
}

// takeLeft returns the number of tasks that remained because the drain was too short. In the ledger
// it moves them from lost to left. Tasks count as left only if workers were still completing tasks
// at the end of the drain, and the servers' account shows that no acknowledged task is missing. It
// does nothing for a round with faults.
func (r *runner) takeLeft(ctx context.Context, cluster *topology.Cluster, o *outcomes, m *measured) (left uint64) {
	if !o.draining() || m.round.Ledger.Lost == 0 || m.round.Faults != nil || len(cluster.Servers()) == 0 {
		return 0
	}
	counts, err := audit.ReadSince(ctx, cluster, m.before)
	if err == nil {
		counts, err = counts.Since(r.before)
	}
	if err != nil {
		m.warnings = append(m.warnings, fmt.Sprintf("round %d: cannot tell whether the servers still hold the incomplete tasks: %v", m.round.Number, err))
		return 0
	}
	var underWay uint64
	for _, w := range o.workloads {
		underWay += uint64(w.Workers * w.ClaimBatch())
	}
	m.round.Ledger, left = leftOf(m.round.Ledger, counts, underWay)
	return left
}

// leftOf moves the lost tasks that are on the servers, according to the servers' own counts, to
// left. It returns the new ledger and the number of moved tasks. If the counts do not account for
// every acknowledged task, it returns l and 0. underWay is the number of completions that were in
// flight when the drain ended. Each of them may have taken effect without an answer, so it is in
// doubt.
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

func (m *measured) checkBalance() {
	for _, problem := range audit.Balance(&m.round.Ledger) {
		m.fault(result.Incorrect, problem)
	}
}

// checkConserved checks that the servers' account is consistent and agrees with the ledger. The
// audit counts the tasks in the store one by one, because a counter can have the same defect as the
// code that updates it. Tasks that existed before the round are left out.
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

// scrapeRound stores the counters of the running servers in the round: the counters of each node in
// a cluster, and the sum over all servers.
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
