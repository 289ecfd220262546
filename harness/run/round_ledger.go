package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pronybench/prony/harness/attack"
	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/result"
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
	for _, invariant := range r.scenario.Invariants {
		if invariant.Kind == "conserved" && len(cluster.Servers()) > 0 {
			checkConserved(ctx, cluster, m)
		}
	}
}

// checkBalance judges the ledger alone.
func (m *measured) checkBalance() {
	l := &m.round.Ledger
	if l.Misrouted > 0 {
		m.fault(result.Incorrect, fmt.Sprintf("not isolated: %d tasks were claimed by another tenant, or from another queue, than they were enqueued for%s",
			l.Misrouted, sampleOf("misrouted: ", l.Samples)))
	}
	if l.Reordered > 0 {
		m.fault(result.Incorrect, fmt.Sprintf("not ordered: %d tasks were claimed after a later one of the same producer and queue%s",
			l.Reordered, sampleOf("reordered: ", l.Samples)))
	}
	if l.Lost+l.Duplicated+l.Corrupted > 0 {
		m.fault(result.Incorrect, fmt.Sprintf("the ledger does not balance: %d lost, %d duplicated, %d corrupted of %d tasks enqueued%s",
			l.Lost, l.Duplicated, l.Corrupted, l.Enqueued, sample(l.Samples)))
	}
}

// sampleOf is the first sample of a kind.
func sampleOf(kind string, samples []string) string {
	of := slices.DeleteFunc(slices.Clone(samples), func(s string) bool { return !strings.Contains(s, kind) })
	return sample(of)
}

func sample(samples []string) string {
	if len(samples) == 0 {
		return ""
	}
	return "; the first: " + samples[0]
}

// checkConserved holds the server's account against itself and against the ledger. The tasks are counted one
// by one in the store, since a counter can be wrong in the same way as what it counts.
func checkConserved(ctx context.Context, cluster *topology.Cluster, m *measured) {
	counts, err := audited(ctx, cluster)
	if err != nil {
		m.fault(result.Invalid, fmt.Sprintf("the server could not be audited: %v", err))
		return
	}
	for _, problem := range conserved(counts, &m.round.Ledger) {
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

// auditTries is how often an audit is taken before it is given up: it needs shards that keep their leaders meanwhile.
const auditTries = 3

// audited returns what the servers say that they hold, each shard counted once: a node audits the shards that it leads,
// so those that lead any are asked, and all over again if one has lost or won a shard in the meantime.
func audited(ctx context.Context, cluster *topology.Cluster) (observe.Counts, error) {
	for range auditTries {
		if err := cluster.WaitForLeaders(ctx); err != nil {
			return observe.Counts{}, err
		}
		before, err := cluster.Leaders(ctx)
		if err != nil {
			return observe.Counts{}, err
		}
		var all observe.Audit
		var auditErr error
		for _, s := range cluster.Servers() {
			if !slices.Contains(before, s.ID) {
				continue
			}
			audit, err := observe.ReadAudit(ctx, admin(cluster, s))
			auditErr = errors.Join(auditErr, err)
			all.Queues = append(all.Queues, audit.Queues...)
		}
		after, err := cluster.Leaders(ctx)
		switch {
		case err != nil:
			return observe.Counts{}, err
		case slices.Equal(before, after):
			return all.Totals(attack.Tenant), auditErr // the ledger does not count the attackers' tasks
		}
	}
	return observe.Counts{}, fmt.Errorf("the shards changed their leaders during each of %d audits", auditTries)
}

// conserved returns how the server's account fails to balance. Tasks whose outcome the ledger does
// not know may be on either side.
func conserved(c observe.Counts, l *result.Ledger) (problems []string) {
	say := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	held := c.Ready + c.Leased + c.Delayed + c.Dead
	if c.Stored != held {
		say("the server says it holds %d tasks, its store has %d", held, c.Stored)
	}
	if c.Enqueued != c.Completed+held {
		say("the server says %d tasks were enqueued, but %d completed and %d held are %d", c.Enqueued, c.Completed, held, c.Completed+held)
	}
	if c.Enqueued < l.Enqueued || c.Enqueued > l.Enqueued+l.Unknown {
		say("the server acknowledged %d enqueues, it counts %d", l.Enqueued, c.Enqueued)
	}
	if c.Completed < l.Completed || c.Completed > l.Completed+l.Unknown+l.InDoubt {
		say("the server acknowledged the completion of %d tasks, it counts %d", l.Completed, c.Completed)
	}
	if left := l.Enqueued - min(l.Enqueued, l.Completed); held > left+l.Unknown {
		say("%d tasks should be left, the server still holds %d (%d ready, %d leased, %d delayed, %d dead)",
			left, held, c.Ready, c.Leased, c.Delayed, c.Dead)
	}
	return problems
}
