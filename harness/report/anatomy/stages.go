package anatomy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/report/doc"
	"github.com/pronybench/prony/harness/report/runs"
	"github.com/pronybench/prony/harness/result"
)

var stageMeanings = map[string]string{
	result.StageReceive:    "from the receipt of a stream message or a call until its commands wait for their shards, for one message in 16",
	result.StageInbox:      "from the arrival of a batch's oldest command until the batch is decided",
	result.StageDecide:     "the decision of one batch",
	result.StageCommitWait: "until the batch begins to commit",
	result.StageCommit:     "until the batch is durable",
	result.StageReplicate:  "part of commit: until a majority of the nodes has it, and it is this node's turn",
	result.StageApply:      "writing the batch to the store",
	result.StageReply:      "until the last answer of the batch is delivered",
	result.StageReady:      "for each task: from the turn that enqueued it until the turn that first leased it, in whole milliseconds",
}

// Stages shows the times of the stages in the servers' pipeline, and the resulting
// throughput.
func Stages(p *doc.Document, r *result.Result) {
	if runs.EndsProcesses(r) {
		return // stages of older results lack the counts of the ended processes
	}
	shown := false
	for _, point := range runs.PointNumbers(r) {
		rounds := slices.DeleteFunc(runs.Timed(r), func(round result.Round) bool { return round.Point != point })
		stages := result.MergeStages(rounds)
		if len(stages) == 0 {
			continue
		}
		cover := result.StagesCover(rounds)
		if !shown {
			p.Heading(2, "Stages of the pipeline, durability %s", doc.Code(r.Manifest.Durability()))
			p.Paragraph("The servers time each batch of commands on its way through a shard, with the histograms of all nodes, shards and timed" +
				" rounds added up. The mean is exact; the percentiles are interpolated between buckets that double. A" +
				" cycle is three commands: an enqueue, a claim and a completion.")
			shown = true
		}
		if point != 0 {
			p.Heading(3, "%s", doc.Code(runs.PointName(r, point)))
		}
		stageTable(p, stages, cover.Cycles)
		p.Paragraph("%s", formula(stages, cover.Cycles, cover.Seconds))
	}
}

func stageTable(p *doc.Document, stages []result.Stage, cycles uint64) {
	total := onTheWay(stages)
	var rows [][]string
	for _, s := range stages {
		part, p50, p99 := "in commit", render.Number(s.P50Ms), render.Number(s.P99Ms)
		switch {
		case serial(s.Name, stages):
			part = runs.Share(s.MeanMs(), total)
		case s.Name == result.StageReady:
			part, p50, p99 = "of tasks", "", "" // whole milliseconds are too coarse for percentiles
		}
		rows = append(rows, []string{
			doc.Code(s.Name), doc.Escape(stageMeanings[s.Name]), render.Count(s.Count), render.Number(s.MeanMs()), part, p50, p99, runs.PerCycle(s.SumMs*1e3, cycles),
		})
	}
	p.Table([]string{"stage", "what", ">passed", ">mean, ms", ">part of the way", ">p50, ms", ">p99, ms", ">µs/cycle"}, rows)
}

// serial reports whether a stage follows the others, and is not a part of another one: with Raft,
// replicating and applying are parts of the commit.
func serial(name string, all []result.Stage) bool {
	if name == result.StageReplicate || name == result.StageReady {
		return false
	}
	replicated := slices.ContainsFunc(all, func(s result.Stage) bool { return s.Name == result.StageReplicate && s.Count > 0 })
	return name != result.StageApply || !replicated
}

// onTheWay returns the mean time of a batch through all stages, in milliseconds.
func onTheWay(stages []result.Stage) float64 {
	sum := 0.0
	for _, s := range stages {
		if serial(s.Name, stages) {
			sum += s.MeanMs()
		}
	}
	return sum
}

// formula expresses the throughput by measured values: batch / (the stages), times the number of
// concurrent batches, by Little's law.
func formula(stages []result.Stage, cycles uint64, seconds float64) string {
	i := slices.IndexFunc(stages, func(s result.Stage) bool { return s.Name == result.StageDecide })
	total := onTheWay(stages)
	if i < 0 || stages[i].Count == 0 || cycles == 0 || total <= 0 || seconds <= 0 {
		return "Nothing passed the stages, so they do not explain the throughput."
	}
	var names, terms []string
	for _, s := range stages {
		if serial(s.Name, stages) {
			names = append(names, s.Name)
			terms = append(terms, render.Number(s.MeanMs()))
		}
	}
	batch := float64(cycles) / float64(stages[i].Count)
	one := batch / total * 1e3
	rate := float64(cycles) / seconds
	return fmt.Sprintf("throughput = batch / (%s) × batches under way = %s cycles / (%s ms) × %s = %s cycles/s. Measured are the batch, the"+
		" times and the rate. The number of batches under way, over all shards, follows from them (Little's law): batches in"+
		" sequence would have reached %s cycles/s.",
		strings.Join(names, " + "), render.Number(batch), strings.Join(terms, " + "), render.Number(rate/one), render.Number(rate), render.Number(one))
}
