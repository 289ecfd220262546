// Package account shows the account of a run's tasks.
package account

import (
	"fmt"
	"slices"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/report/doc"
	"github.com/pronybench/prony/harness/report/runs"
	"github.com/pronybench/prony/harness/result"
)

// ledgerColumns are columns of the account of tasks that a page shows only if a round has one of
// their counts.
type ledgerColumns struct {
	header []string
	counts func(l result.Ledger) []uint64
	says   string // description of the counts
}

// someLedgers are the optional columns, in the order of the table.
var someLedgers = []ledgerColumns{
	{
		[]string{">in doubt"},
		func(l result.Ledger) []uint64 { return []uint64{l.InDoubt} },
		"Tasks in doubt were enqueued, and their completion call got no answer: they may be completed or not.",
	},
	{
		[]string{">left"},
		func(l result.Ledger) []uint64 { return []uint64{l.Left} },
		"Left tasks are still on the servers, and the servers' own account must show them: no worker claims them, or the drain was too short" +
			" for the backlog.",
	},
	{
		[]string{">misrouted", ">reordered"},
		func(l result.Ledger) []uint64 { return []uint64{l.Misrouted, l.Reordered} },
		"Misrouted tasks were claimed by another tenant, or from another queue, than that of their enqueue. Reordered ones" +
			" were claimed after a later task of the same producer and queue.",
	},
	{
		[]string{">contested", ">revoked"},
		func(l result.Ledger) []uint64 { return []uint64{l.Contested, l.Revoked} },
		"Contested tasks were claimed while another lease of the task was valid. Revoked are completions that were refused" +
			" although their lease was valid.",
	},
	{
		[]string{">reads", ">misread"},
		func(l result.Ledger) []uint64 { return []uint64{l.Reads, l.Misread} },
		"Reads are the answered reads. Misread ones were answered with a wrong task, with another tenant's" +
			" task, or without an existing task.",
	},
	{
		[]string{">failed", ">retried", ">dead", ">miscounted"},
		func(l result.Ledger) []uint64 { return []uint64{l.Failed, l.Retried, l.Dead, l.Miscounted} },
		"Failed are attempts that workers failed as the scenario requests. Each was retried, unless it was the last allowed attempt: then the task" +
			" is dead. Miscounted tasks were claimed with another attempt than the next. The latency of a cycle counts from the due time of the task" +
			" to its completion, with all failed attempts and the waits between; dead tasks have no cycle.",
	},
	{
		[]string{">delayed", ">early"},
		func(l result.Ledger) []uint64 { return []uint64{l.Delayed, l.Early} },
		"Delayed are deliveries of tasks that were enqueued with a delay. Early are those of them before the end of the delay. The" +
			" latency of a cycle counts from the end of the delay.",
	},
	{
		[]string{">results", ">wrong results"},
		func(l result.Ledger) []uint64 { return []uint64{l.Results, l.WrongResults} },
		"Results are a sample of completed tasks' results that were read back. Wrong ones differed from the completion's result, or were missing.",
	},
	{
		[]string{">extended", ">unextended"},
		func(l result.Ledger) []uint64 { return []uint64{l.Extended, l.Unextended} },
		"Extended are acknowledged extensions of leases. Unextended ones were refused although the lease was valid.",
	},
	{
		[]string{">repeated", ">rekeyed"},
		func(l result.Ledger) []uint64 { return []uint64{l.Repeated, l.Rekeyed} },
		"Repeated are tasks that were enqueued again under their idempotency key. Rekeyed are those of them whose second enqueue was" +
			" answered with another id than the first.",
	},
	{
		[]string{">with headers", ">wrong headers"},
		func(l result.Ledger) []uint64 { return []uint64{l.Labelled, l.WrongHeaders} },
		"With headers are deliveries of tasks whose headers were checked. Wrong headers differed from those of the enqueue.",
	},
	{
		[]string{">final tasks", ">premature"},
		func(l result.Ledger) []uint64 { return []uint64{l.Finals, l.Premature} },
		"Final tasks are deliveries of final tasks of batches. Premature are those of them before the completion of all members was requested.",
	},
	{
		[]string{">cancelled", ">unnoticed"},
		func(l result.Ledger) []uint64 { return []uint64{l.Cancelled, l.Unnoticed} },
		"Cancelled are tasks that were cancelled while a worker held them. Unnoticed are those of them whose worker got no notice.",
	},
	{
		[]string{">taken", ">doubled"},
		func(l result.Ledger) []uint64 { return []uint64{l.Taken, l.Doubled} },
		"Taken are enqueues that the server refused because another task held their unique key. Doubled are tasks that were unfinished" +
			" while another task with the same key was.",
	},
}

// in reports whether a round has one of the counts.
func (c ledgerColumns) in(r *result.Result) bool {
	return slices.ContainsFunc(r.Rounds, func(round result.Round) bool {
		return slices.ContainsFunc(c.counts(round.Ledger), func(n uint64) bool { return n > 0 })
	})
}

// Section adds the account of every task of each round.
func Section(p *doc.Document, r *result.Result) {
	if len(r.Rounds) == 0 {
		return
	}
	p.Heading(2, "Ledger, durability %s", doc.Code(r.Manifest.Durability()))
	p.Paragraph("The account of every task of a round, including warm-up and drain. Unknown are tasks that were sent and" +
		" neither acknowledged nor refused.")
	header := []string{">round", ">enqueued", ">unknown", ">completed", ">lost", ">duplicated", ">corrupted"}
	some := slices.DeleteFunc(slices.Clone(someLedgers), func(c ledgerColumns) bool { return !c.in(r) })
	for _, c := range some {
		header = append(header, c.header...)
		p.Paragraph("%s", c.says)
	}
	var rows [][]string
	var faults []string
	for _, round := range r.Rounds {
		l := round.Ledger
		row := []string{
			runs.RoundName(r, round), render.Count(l.Enqueued), render.Count(l.Unknown), render.Count(l.Completed), render.Count(l.Lost), render.Count(l.Duplicated), render.Count(l.Corrupted),
		}
		for _, c := range some {
			for _, n := range c.counts(l) {
				row = append(row, render.Count(n))
			}
		}
		rows = append(rows, row)
		for _, sample := range l.Samples {
			faults = append(faults, fmt.Sprintf("Round %d: %s", round.Number, doc.Escape(sample)))
		}
	}
	p.Table(header, rows)
	if slices.ContainsFunc(r.Rounds, func(round result.Round) bool { return round.Ledger.Reads > 0 }) {
		readsTable(p, r)
		otherReadsTable(p, r)
	}
	if len(faults) > 0 {
		p.Paragraph("Some of the tasks at fault:")
		p.List(faults)
	}
}
