package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/report/doc"
	"github.com/pronybench/prony/harness/report/runs"
	"github.com/pronybench/prony/harness/result"
)

// costsSection lists the causes of the time in sentences.
func costsSection(p *doc.Document, r *result.Result) {
	boundSection(p, r)
	if len(r.Causes) == 0 {
		return
	}
	p.Heading(2, "What the time is spent on, durability %s", doc.Code(r.Manifest.Durability()))
	p.Paragraph("The combined evidence of the stages, the locks, the profiles and the counters, the largest first. It shows where to" +
		" look; locks and functions are from profiled rounds.")
	p.List(causes(r.Causes))
}

// limitsRule explains the thresholds for a limiting resource.
const limitsRule = "A resource limits the rate if at least 85 % of it is in use, or if a wait is at least half of a cycle's median latency. The CPUs of a" +
	" host limit a closed load if some thread waits for one a third of the time and at least 60 % of them are busy. The parts are from the" +
	" timed rounds, those of locks from the profiled ones."

// boundSection shows the limiting resource.
func boundSection(p *doc.Document, r *result.Result) {
	var list []string
	if r.Bound != nil {
		list = append(list, doc.Escape(r.Bound.Sentence))
	}
	for _, point := range r.Points {
		if point.Bound != nil {
			list = append(list, doc.Code(point.Name)+": "+doc.Escape(point.Bound.Sentence))
		}
	}
	if len(list) == 0 {
		if !slices.ContainsFunc(runs.Timed(r), func(round result.Round) bool { return round.Cycles+round.Enqueues > 0 }) {
			return
		}
		list = []string{"Unknown: no measured resource is saturated, and this run did not measure all resources."}
	}
	p.Heading(2, "What limits the rate, durability %s", doc.Code(r.Manifest.Durability()))
	p.Paragraph("%s", limitsRule)
	p.List(list)
}

func causes(all []result.Cause) []string {
	var list []string
	for _, c := range all {
		list = append(list, fmt.Sprintf("%s: %s", strings.TrimSpace(c.Kind+" "+doc.Code(c.Name)), doc.Escape(c.Sentence)))
	}
	return list
}

// lockPartMin is the smallest Result.PartOfCycle of a listed lock.
const lockPartMin = 0.01

// listedLocks returns the locks to list, and the number of others. Without a rate it lists all.
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

// locksSection lists the locks that goroutines waited for, their holders and their waiters.
func locksSection(p *doc.Document, r *result.Result) {
	if len(r.Locks) == 0 {
		return
	}
	locks, left := listedLocks(r)
	p.Heading(2, "Locks, durability %s", doc.Code(r.Manifest.Durability()))
	whose := "the server"
	if slices.ContainsFunc(locks, func(l result.Lock) bool { return l.Node == result.GeneratorNode }) {
		whose += ", or of the load generator,"
	}
	if len(locks) == 0 {
		p.Paragraph("No lock is listed: goroutines waited less than %s of the time per cycle for each of %s.", render.PercentTo(lockPartMin, 0), render.Plural(left, "lock"))
		return
	}
	p.Paragraph("The locks that goroutines of %s waited for in the profiled rounds. The waiters are from the block profile, the"+
		" holders from the mutex profile, joined by lock. The share is that of all waiting for locks; it does not include waiting for work, as an idle"+
		" worker does. Both profiles are samples, and locks inside the Go runtime appear under the runtime's names."+
		" The time per cycle is the reciprocal of the rate. Simultaneous waits of several goroutines add up, so a part may exceed 100 %%.", whose)
	if left > 0 {
		p.Paragraph("Not listed: %s with less than %s of the time per cycle.", render.Plural(left, "lock"), render.PercentTo(lockPartMin, 0))
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
			doc.Code(l.Name), doc.Escape(l.Kind), render.Percent(l.Share), render.Amount(l.WaitNsPerCycle, "nanoseconds"), part, render.Count(l.Waits), sites(l.Holders), sites(l.Waiters),
		}
		if of {
			row = append([]string{lockOf(r, l)}, row...)
		}
		rows = append(rows, row)
	}
	p.Table(header, rows)
}

func anyNode(locks []result.Lock) bool {
	for _, l := range locks {
		if l.Node != "" {
			return true
		}
	}
	return false
}

func lockOf(r *result.Result, l result.Lock) string {
	var of []string
	if l.Point != 0 {
		of = append(of, doc.Code(runs.PointName(r, l.Point)))
	}
	if l.Node != "" {
		of = append(of, doc.Code(l.Node))
	}
	return strings.Join(of, ", ")
}

// sites lists functions with their share of a lock's wait.
func sites(all []result.LockSite) string {
	if len(all) == 0 {
		return "unknown"
	}
	var list []string
	for _, s := range all {
		name := doc.Code(render.Function(s.Function))
		if s.From != "" {
			name += " from " + doc.Code(render.Function(s.From))
		}
		list = append(list, name+" "+render.Percent(s.Share))
	}
	return strings.Join(list, ", ")
}
