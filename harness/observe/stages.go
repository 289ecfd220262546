package observe

import (
	"fmt"
	"strconv"

	"github.com/pronybench/prony/harness/result"
)

// stagesHistogram is the servers' histogram of the time that a stage takes.
const stagesHistogram = "prony_stage_seconds"

// stageNames are the stages in the order in which a batch passes them, and then the one that is of tasks.
var stageNames = []string{
	result.StageReceive, result.StageInbox, result.StageDecide, result.StageApply, result.StageCommitWait, result.StageCommit, result.StageReplicate, result.StageReply,
	result.StageReady,
}

// Stages returns how long the stages of the servers' pipeline took between two readings of each server, added up over nodes and
// shards. A stage that nothing passed is left out. So is a stage that another process of a server counted before: problems says which.
func Stages(before, after []Metrics) (all []result.Stage, problems []string) {
	for _, name := range stageNames {
		stage, err := stageOf(name, before, after)
		if err != nil {
			problems = append(problems, fmt.Sprintf("stage %s is left out: %v", name, err))
		} else if stage.Count > 0 {
			all = append(all, stage)
		}
	}
	return all, problems
}

func stageOf(name string, before, after []Metrics) (stage result.Stage, err error) {
	label := "{stage=" + strconv.Quote(name) + "}"
	var buckets Buckets
	for i := range after {
		grown, err := after[i].Histograms[stagesHistogram+label].Since(before[i].Histograms[stagesHistogram+label])
		if err != nil {
			return stage, err
		}
		buckets = buckets.Plus(grown)
	}
	seconds, _ := Rose(before, after, stagesHistogram+"_sum"+label)
	counts := make([]uint64, len(buckets))
	for i, b := range buckets {
		counts[i] = b.Count
	}
	return result.StageOf(name, 1e3*seconds, counts), nil
}

// Rose returns by how much a value rose between two readings of each server, added up over the servers that have it, and whether one
// has it.
func Rose(before, after []Metrics, key string) (sum float64, has bool) {
	for i := range after {
		if v, there := after[i].Values[key]; there {
			sum, has = sum+v-before[i].Values[key], true
		}
	}
	return sum, has
}
