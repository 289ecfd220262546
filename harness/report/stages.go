package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pronybench/prony/harness/result"
)

// Names of the stages, and what they are.
const (
	stageDecide    = "decide"
	stageReplicate = "replicate"
	stageApply     = "apply"
)

var stageMeanings = map[string]string{
	"inbox":        "from the arrival of a batch's oldest command until the batch is decided",
	stageDecide:    "the decision of one batch",
	"commit_wait":  "until the batch begins to commit",
	"commit":       "until the batch is durable",
	stageReplicate: "of that: until a majority of the nodes has it, and it is this node's turn",
	stageApply:     "writing the batch to the store",
	"reply":        "until the last answer of the batch is handed out",
}

// mergedStage is a stage over all timed rounds of a point: counts and times added up. The percentiles of rounds can't be
// added up: low and high are the rounds' own.
type mergedStage struct {
	result.Stage
	p99Low, p99High float64
}

// mergeStages adds up the stages of rounds, in the order of their first appearance.
func mergeStages(rounds []result.Round) (stages []mergedStage, cycles uint64, seconds float64) {
	for _, round := range rounds {
		if len(round.Stages) == 0 {
			continue
		}
		cycles += round.Cycles
		seconds += round.WindowSeconds
		for _, s := range round.Stages {
			i := slices.IndexFunc(stages, func(m mergedStage) bool { return m.Name == s.Name })
			if i < 0 {
				stages = append(stages, mergedStage{s, s.P99Ms, s.P99Ms})
				continue
			}
			m := &stages[i]
			m.Count += s.Count
			m.SumMs += s.SumMs
			m.p99Low, m.p99High = min(m.p99Low, s.P99Ms), max(m.p99High, s.P99Ms)
		}
	}
	return stages, cycles, seconds
}

// stagesSection shows how long the stages of the servers' pipeline took, and what that makes of the throughput.
func stagesSection(p *page, r *result.Result) {
	shown := false
	for _, point := range pointNumbers(r) {
		rounds := slices.DeleteFunc(timedRounds(r), func(round result.Round) bool { return round.Point != point })
		stages, cycles, seconds := mergeStages(rounds)
		if len(stages) == 0 {
			continue
		}
		if !shown {
			p.heading(2, "Stages of the pipeline, durability %s", code(r.Manifest.Durability()))
			p.paragraph("The servers time each batch of commands on its way through a shard, over all nodes and shards and all timed" +
				" rounds. The mean is exact; the percentile is interpolated between buckets that double, and shown from the lowest" +
				" round to the highest. A cycle is three commands: an enqueue, a claim and a completion.")
			shown = true
		}
		if point != 0 {
			p.heading(3, "%s", code(pointName(r, point)))
		}
		stageTable(p, stages, cycles)
		p.paragraph("%s", formula(stages, cycles, seconds))
	}
}

// pointNumbers are those of a sweep, or 0 alone.
func pointNumbers(r *result.Result) []int {
	if len(r.Points) == 0 {
		return []int{0}
	}
	var numbers []int
	for _, p := range r.Points {
		numbers = append(numbers, p.Number)
	}
	return numbers
}

func stageTable(p *page, stages []mergedStage, cycles uint64) {
	total := onTheWay(stages)
	var rows [][]string
	for _, s := range stages {
		part := "in commit"
		if serial(s.Name, stages) {
			part = share(s.MeanMs(), total)
		}
		rows = append(rows, []string{
			code(s.Name), text(stageMeanings[s.Name]), count(s.Count), number(s.MeanMs()), part,
			number(s.p99Low), number(s.p99High), perCycle(s.SumMs*1e3, cycles),
		})
	}
	p.table([]string{"stage", "what", ">passed", ">mean, ms", ">part of the way", ">p99, lowest, ms", ">p99, highest, ms", ">µs/cycle"}, rows)
}

// serial reports whether a stage comes after the others, and is not a part of one: with Raft, replicating and applying are
// parts of the commit.
func serial(name string, all []mergedStage) bool {
	if name == stageReplicate {
		return false
	}
	replicated := slices.ContainsFunc(all, func(s mergedStage) bool { return s.Name == stageReplicate && s.Count > 0 })
	return name != stageApply || !replicated
}

// onTheWay is the mean time of a batch through all stages, in milliseconds.
func onTheWay(stages []mergedStage) float64 {
	sum := 0.0
	for _, s := range stages {
		if serial(s.Name, stages) {
			sum += s.MeanMs()
		}
	}
	return sum
}

// formula states the throughput in measured terms: batch / (the stages), times how many batches were under way at once,
// which is Little's law.
func formula(stages []mergedStage, cycles uint64, seconds float64) string {
	i := slices.IndexFunc(stages, func(s mergedStage) bool { return s.Name == stageDecide })
	total := onTheWay(stages)
	if i < 0 || stages[i].Count == 0 || cycles == 0 || total <= 0 || seconds <= 0 {
		return "Nothing passed the stages, so they say nothing of the throughput."
	}
	var names, terms []string
	for _, s := range stages {
		if serial(s.Name, stages) {
			names = append(names, s.Name)
			terms = append(terms, number(s.MeanMs()))
		}
	}
	batch := float64(cycles) / float64(stages[i].Count)
	one := batch / total * 1e3
	rate := float64(cycles) / seconds
	return fmt.Sprintf("throughput = batch / (%s) × batches under way = %s cycles / (%s ms) × %s = %s cycles/s. Measured are the batch, the"+
		" times and the rate, and the batches under way, over all shards, are what these leave (Little's law): one batch after the"+
		" other would have made %s cycles/s.",
		strings.Join(names, " + "), number(batch), strings.Join(terms, " + "), number(rate/one), number(rate), number(one))
}
