package observe

import (
	"fmt"
	"strconv"

	"github.com/pronybench/prony/harness/result"
)

// stagesHistogram is the name of the servers' histogram of the durations of stages.
const stagesHistogram = "prony_stage_seconds"

// stageNames lists the stages in the order that a batch passes through them. The last stage is that
// of single tasks.
var stageNames = []string{
	result.StageReceive, result.StageInbox, result.StageDecide, result.StageApply, result.StageCommitWait, result.StageCommit, result.StageReplicate, result.StageReply,
	result.StageReady,
}

// Stages returns the durations of the pipeline stages between two readings of each server, summed
// over nodes and shards. It leaves out stages through which nothing passed. It also leaves out a
// stage if a server was restarted between the readings. problems reports such stages.
func Stages(before, after []Metrics) (all []result.Stage, problems []string) {
	for _, name := range stageNames {
		stage, err := stageOf(name, before, after)
		if err != nil {
			problems = append(problems, fmt.Sprintf("stage %s is missing: %v", name, err))
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

// Rose returns the growth of a value between two readings of each server. The growth is summed over
// the servers that export the value. has is false if no server exports it.
func Rose(before, after []Metrics, key string) (sum float64, has bool) {
	for i := range after {
		if v, there := after[i].Values[key]; there {
			sum, has = sum+v-before[i].Values[key], true
		}
	}
	return sum, has
}
