package run

import (
	"fmt"
	"strconv"

	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/result"
)

// stagesHistogram is the server's of the time that a stage takes.
const stagesHistogram = "prony_stage_seconds"

// stageNames are the stages in the order in which a batch passes them.
var stageNames = []string{
	result.StageInbox, result.StageDecide, result.StageApply, result.StageCommitWait, result.StageCommit, result.StageReplicate, result.StageReply,
}

// stages fills in the stages of the servers in the window, added up over nodes and shards. A stage that nothing passed is
// left out.
func (w *windowProbe) stages(m *measured) {
	for _, name := range stageNames {
		key := stagesHistogram + "{stage=" + strconv.Quote(name) + "}"
		var all observe.Buckets
		for _, s := range w.servers {
			grown, err := s.metricsAfter.Histograms[key].Since(s.metricsBefore.Histograms[key])
			if err != nil {
				m.warnings = append(m.warnings, fmt.Sprintf("round %d: stage %s is left out: %v", m.round.Number, name, err))
				all = nil
				break
			}
			all = all.Plus(grown)
		}
		if all.Total() == 0 {
			continue
		}
		seconds, _ := w.counted(stagesHistogram + "_sum{stage=" + strconv.Quote(name) + "}")
		counts := make([]uint64, len(all))
		for i, b := range all {
			counts[i] = b.Count
		}
		m.round.Stages = append(m.round.Stages, result.StageOf(name, 1e3*seconds, counts))
	}
}
