// Package anatomy shows what the mean cycle of a run consists of: the stages of the pipeline, the
// operations on the stores, and the CPU time by area of the code.
package anatomy

import (
	"fmt"
	"slices"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/report/doc"
	"github.com/pronybench/prony/harness/report/runs"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/stat"
)

// Section shows the parts of the mean cycle: its time, the operations on the stores, and the
// CPU time by area of the code.
func Section(p *doc.Document, r *result.Result) {
	shown := false
	for _, point := range runs.PointNumbers(r) {
		rounds := slices.DeleteFunc(runs.Timed(r), func(round result.Round) bool { return round.Point != point })
		steps, times, areas := result.MergeStorageSteps(rounds), result.MergeCycleTimes(rounds), areasOf(r, point)
		if steps.Cycles == 0 && times.Cycles == 0 && len(areas) == 0 {
			continue
		}
		if !shown {
			p.Heading(2, "Anatomy of a cycle, durability %s", doc.Code(r.Manifest.Durability()))
			shown = true
		}
		if point != 0 {
			p.Heading(3, "%s", doc.Code(runs.PointName(r, point)))
		}
		cycleTimeTable(p, times, result.MergeStages(rounds))
		storageStepsTable(p, steps)
		areasTable(p, areas)
		switches(p, rounds)
	}
}

// switches shows how often threads slept in a cycle: each wake-up of another thread costs CPU time and
// latency that no area of the code explains.
func switches(p *doc.Document, rounds []result.Round) {
	server, client := medianOf(rounds, result.ServerSwitchesPerCycle), medianOf(rounds, result.ClientSwitchesPerCycle)
	if server != "" && client != "" {
		p.Paragraph("Per cycle, the threads of the servers gave up their CPU to wait %s times in total, those of the load generator %s times. These are"+
			" voluntary context switches, medians of the timed rounds.", server, client)
	}
}

// medianOf returns the median of a metric over rounds, or "" if no round has it.
func medianOf(rounds []result.Round, metric string) string {
	var values []float64
	for _, round := range rounds {
		if v, has := round.Metrics[metric]; has {
			values = append(values, v)
		}
	}
	s, err := stat.Summarise(values)
	if err != nil {
		return ""
	}
	return render.Number(s.Center)
}

// cycleTimeTable shows a cycle's time, step by step.
func cycleTimeTable(p *doc.Document, c result.CycleTime, stages []result.Stage) {
	if c.Cycles == 0 {
		return
	}
	p.Paragraph("A cycle's time, step by step. The values are means of the timed rounds, because means add up and percentiles do not. A task passes the" +
		" pipeline twice: as an enqueue, which becomes a lease in the turn that leases the task, and as a completion. The times in the pipeline are" +
		" the means of the stages. The ways between the processes are the rest of the client's round trips, of the enqueue and from the claim to the" +
		" settle; each way is half of a round trip. They contain the work of clients and kernel, the network, and waits for a CPU. A stage's mean" +
		" is over batches, the client's means are over tasks. If batches differ much in size, the ways contain the difference, and can be negative. For" +
		" retried or delayed tasks, the time until their last lease is not attributed.")
	var rows [][]string
	for _, part := range cycleParts(c, stages) {
		rows = append(rows, []string{part.step, part.text, render.Number(part.ms), runs.Share(part.ms, c.CycleMs)})
	}
	rows = append(rows, []string{"cycle", fmt.Sprintf("mean of %s", render.Count(c.Cycles)), render.Number(c.CycleMs), runs.Share(c.CycleMs, c.CycleMs)})
	p.Table([]string{"step", "part", ">mean, ms", ">part of the cycle"}, rows)
	verdict := "The check holds"
	if c.UnattributedPercent() > result.UnattributedPercentMax {
		verdict = "The check does not hold"
	}
	p.Paragraph("%s: the sum of the parts must match the client's mean cycle (%s ms) within %d %%. They come from three independent measurements: the client's"+
		" mean round trips of the enqueue (%s ms) and from the claim to the settle (%s ms), and the server's mean wait of a ready task (%s ms). %s %% of the cycle is"+
		" not attributed.", verdict, render.Number(c.CycleMs), result.UnattributedPercentMax, render.Number(c.EnqueueMs), render.Number(c.SettleMs),
		render.Number(c.ReadyMs), render.Number(c.UnattributedPercent()))
}

// cyclePart is one part of a cycle's time.
type cyclePart struct {
	step, text string // cells of the table
	kind       string // common to parts of several steps: the name of a stage, "way", ...
	ms         float64
}

// cycleParts divides the mean cycle, in the order of a task's path. The parts sum to the cycle.
func cycleParts(c result.CycleTime, stages []result.Stage) (all []cyclePart) {
	span := 0.0
	var before, after []result.Stage // before and from the decision
	for _, s := range stages {
		switch {
		case !serial(s.Name, stages):
			continue
		case s.Name == result.StageReceive || s.Name == result.StageInbox:
			before = append(before, s)
		default:
			after = append(after, s)
		}
		span += s.MeanMs()
	}
	add := func(step, text, kind string, ms float64) { all = append(all, cyclePart{step, text, kind, ms}) }
	pass := func(step string, stages []result.Stage) {
		for _, s := range stages {
			add(step, doc.Code(s.Name), s.Name, s.MeanMs())
		}
	}
	enqueueWay, workerWay := (c.EnqueueMs-span)/2, (c.SettleMs-c.WorkMs-span)/2
	add(result.StepEnqueue, "to the server", "way", enqueueWay)
	pass(result.StepEnqueue, before)
	add("ready", "from the turn that enqueues the task to the turn that leases the task", "ready", c.ReadyMs)
	pass(result.StepClaim, after)
	add(result.StepClaim, "to the worker", "way", workerWay)
	if c.WorkMs > 0 {
		add("work", "in the worker, as configured in the scenario", "work", c.WorkMs)
	}
	add(result.StepSettle, "to the server", "way", workerWay)
	pass(result.StepSettle, before)
	pass(result.StepSettle, after)
	add(result.StepSettle, "to the worker", "way", workerWay)
	add("", "not attributed", "not attributed", c.UnattributedMs())
	return all
}

// storageStepsTable shows the operations on the stores by step.
func storageStepsTable(p *doc.Document, s result.StorageSteps) {
	if s.Cycles == 0 {
		return
	}
	p.Paragraph("Operations on the stores for each cycle, by the step that caused them, over all nodes and timed rounds. The step" +
		" `commit` covers work that the commands of a commit share, such as the queues' records: larger commits reduce its share of a cycle. New" +
		" tasks and leases that a store only writes to its log are encoded, but neither set nor deleted.")
	total := result.StorageStep{Name: "all"}
	for _, step := range s.Steps {
		total = total.Plus(step)
	}
	var rows [][]string
	for _, step := range append(slices.Clone(s.Steps), total) {
		row := []string{step.Name}
		for _, n := range []float64{step.Gets, step.ScannedKeys, step.Sets, step.Deletes, step.SetBytes, step.Encodes, step.EncodedBytes, step.Decodes} {
			row = append(row, render.Number(n/s.Cycles))
		}
		rows = append(rows, row)
	}
	p.Table([]string{"step", ">gets", ">scanned keys", ">sets", ">deletes", ">set, bytes", ">encodes", ">encoded, bytes", ">decodes"}, rows)
}

// serverAreas are the areas of one server's CPU profile.
type serverAreas struct {
	node   string
	cycles uint64
	total  float64
	areas  []result.ProfileArea
}

func areasOf(r *result.Result, point int) (all []serverAreas) {
	for _, profile := range r.Profiles {
		if profile.Point == point && len(profile.Areas) > 0 && profile.Cycles > 0 {
			all = append(all, serverAreas{profile.Node, profile.Cycles, profile.Total, profile.Areas})
		}
	}
	return all
}

// areasTable shows CPU time by area of the code: microseconds of each server for each cycle.
func areasTable(p *doc.Document, all []serverAreas) {
	if len(all) == 0 {
		return
	}
	p.Paragraph("CPU time by area of the code, from the profiled rounds. Each sample belongs to the area of its innermost frame that has an area, so" +
		" the areas sum to the profile. Runtime work for a caller, such as copying memory, counts for the caller.")
	header, total := []string{"area", "what"}, []string{"all", ""}
	for _, s := range all {
		header = append(header, fmt.Sprintf(">%sµs/cycle", prefixed(s.node)), fmt.Sprintf(">%spart", prefixed(s.node)))
		total = append(total, runs.PerCycle(s.total/1e3, s.cycles), runs.Share(s.total, s.total))
	}
	var rows [][]string
	for _, area := range profileAreas(all) {
		row := []string{doc.Escape(area), doc.Escape(areaMeanings[area])}
		for _, s := range all {
			value := 0.0
			if i := slices.IndexFunc(s.areas, func(a result.ProfileArea) bool { return a.Name == area }); i >= 0 {
				value = s.areas[i].Value
			}
			row = append(row, runs.PerCycle(value/1e3, s.cycles), runs.Share(value, s.total))
		}
		rows = append(rows, row)
	}
	p.Table(header, append(rows, total))
}

// prefixed returns the prefix of a column's name: the name of the node in a cluster, or "" for a
// single server.
func prefixed(node string) string {
	if node == "" {
		return ""
	}
	return node + ", "
}

// profileAreas returns the areas that any of the servers has, in the order of their first
// occurrence.
func profileAreas(all []serverAreas) (names []string) {
	for _, s := range all {
		for _, a := range s.areas {
			if !slices.Contains(names, a.Name) {
				names = append(names, a.Name)
			}
		}
	}
	return names
}

// areaMeanings describe the code of each area.
var areaMeanings = map[string]string{
	result.AreaRPC:         "gRPC, HTTP/2, the codec of the streams, the services, TLS, sockets",
	result.AreaCodec:       "records of the store, and protocol buffers",
	result.AreaQueue:       "the state machine and its shard: decisions, inbox, answers",
	result.AreaGet:         "look-ups of single keys",
	result.AreaIterator:    "scans of keys",
	result.AreaCommit:      "batches, the write-ahead log, memtables, and records that are only in the log",
	result.AreaCompaction:  "flushes and compactions, in the background",
	result.AreaReplication: "the Raft log, its transport, and its application",
	result.AreaScheduler:   "Go runtime: goroutines, channels, timers and locks",
	result.AreaGC:          "Go runtime: garbage collection",
	result.AreaMemory:      "Go runtime: allocation",
	result.AreaSyscalls:    "system calls with their kernel time, including those that wait for the network",
	result.AreaOther:       "everything else",
}
