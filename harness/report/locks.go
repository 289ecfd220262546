package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
)

// costsSection says in sentences where the time went.
func costsSection(p *page, r *result.Result) {
	boundSection(p, r)
	if len(r.Causes) == 0 {
		return
	}
	p.heading(2, "What the time is spent on, durability %s", code(r.Manifest.Durability()))
	p.paragraph("What the stages, the locks, the profiles and the counters say together, the largest first. It is evidence of where to" +
		" look, from profiled rounds where locks and functions are named.")
	p.list(causes(r.Causes))
}

// limitsRule says from which part on a resource limits the rate of rounds.
const limitsRule = "A resource limits the rate if at least 85 % of it is in use, or if a wait is at least half of a cycle's median latency. The CPUs of a" +
	" host limit a closed load if some thread waits for one a third of the time and at least 60 % of them are busy. The parts are of the" +
	" timed rounds, those of locks of the profiled ones."

// boundSection says what limits the rate.
func boundSection(p *page, r *result.Result) {
	var list []string
	if r.Bound != nil {
		list = append(list, text(r.Bound.Sentence))
	}
	for _, point := range r.Points {
		if point.Bound != nil {
			list = append(list, code(point.Name)+": "+text(point.Bound.Sentence))
		}
	}
	if len(list) == 0 {
		if !slices.ContainsFunc(timedRounds(r), func(round result.Round) bool { return round.Cycles+round.Enqueues > 0 }) {
			return
		}
		list = []string{"Not known: no measured resource is saturated, and the figures of this run do not tell all of them."}
	}
	p.heading(2, "What limits the rate, durability %s", code(r.Manifest.Durability()))
	p.paragraph("%s", limitsRule)
	p.list(list)
}

func causes(all []result.Cause) []string {
	var list []string
	for _, c := range all {
		list = append(list, fmt.Sprintf("%s: %s", strings.TrimSpace(c.Kind+" "+code(c.Name)), text(c.Sentence)))
	}
	return list
}

// lockPartMin is the least Result.PartOfCycle of a lock that the page lists.
const lockPartMin = 0.01

// listedLocks returns the locks that the page lists, and how many it leaves out. Without a rate it lists all.
func listedLocks(r *result.Result) (listed []result.Lock, left int) {
	for _, l := range r.Locks {
		if part, known := r.PartOfCycle(l); known && part < lockPartMin {
			left++
			continue
		}
		listed = append(listed, l)
	}
	return listed, left
}

// locksSection names what goroutines waited for, who held it, and who waited.
func locksSection(p *page, r *result.Result) {
	if len(r.Locks) == 0 {
		return
	}
	locks, left := listedLocks(r)
	p.heading(2, "Locks, durability %s", code(r.Manifest.Durability()))
	whose := "the server"
	if slices.ContainsFunc(locks, func(l result.Lock) bool { return l.Node == result.GeneratorNode }) {
		whose += ", or of the load generator,"
	}
	if len(locks) == 0 {
		p.paragraph("No lock is listed: goroutines waited less than %s of the time per cycle for each of %s.", render.PercentTo(lockPartMin, 0), render.Plural(left, "lock"))
		return
	}
	p.paragraph("What goroutines of %s waited for in the profiled rounds: the waiters are those of the block profile, the"+
		" holders those of the mutex profile, joined by lock. The share is of all waiting for locks; waiting for work, as an idle"+
		" worker does, is not in it. Both profiles are samples, and locks inside the Go runtime appear under the runtime's names."+
		" The time per cycle is the reciprocal of the rate; waits of several goroutines at once add up, so a part of it may exceed 100 %%.", whose)
	if left > 0 {
		p.paragraph("Not listed: %s with less than %s of the time per cycle.", render.Plural(left, "lock"), render.PercentTo(lockPartMin, 0))
	}
	of := len(r.Points) > 0 || anyNode(locks)
	header := []string{"lock", "kind", ">share", ">wait per cycle", ">part of the time per cycle", ">waits", "held by", "waited for by"}
	if of {
		header = append([]string{"of"}, header...)
	}
	var rows [][]string
	for _, l := range locks {
		part := "unknown"
		if v, known := r.PartOfCycle(l); known {
			part = render.Percent(v)
		}
		row := []string{
			code(l.Name), text(l.Kind), render.Percent(l.Share), render.Amount(l.WaitNsPerCycle, "nanoseconds"), part, render.Count(l.Waits), sites(l.Holders), sites(l.Waiters),
		}
		if of {
			row = append([]string{lockOf(r, l)}, row...)
		}
		rows = append(rows, row)
	}
	p.table(header, rows)
}

func anyNode(locks []result.Lock) bool {
	for _, l := range locks {
		if l.Node != "" {
			return true
		}
	}
	return false
}

// lockOf names the point and the node of a lock.
func lockOf(r *result.Result, l result.Lock) string {
	var of []string
	if l.Point != 0 {
		of = append(of, code(pointName(r, l.Point)))
	}
	if l.Node != "" {
		of = append(of, code(l.Node))
	}
	return strings.Join(of, ", ")
}

// sites lists functions with their parts of a lock's waiting.
func sites(all []result.LockSite) string {
	if len(all) == 0 {
		return "unknown"
	}
	var list []string
	for _, s := range all {
		name := code(render.Function(s.Function))
		if s.From != "" {
			name += " from " + code(render.Function(s.From))
		}
		list = append(list, name+" "+render.Percent(s.Share))
	}
	return strings.Join(list, ", ")
}
