package scenario

import (
	"fmt"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// Score defines the score that `prony ratchet` computes for a change: the geometric mean of the
// ratios of change to base, over all metrics and all points of the scenario's sweep.
type Score struct {
	Metrics []ScoreMetric `json:"metrics"` // at least one; names are unique
}

// ScoreMetric is a metric of a score.
type ScoreMetric struct {
	Name   string  `json:"name"`   // one of ScoreMetrics
	Weight float64 `json:"weight"` // above 0; only the ratios of the weights matter
}

// ScoreMetrics returns the metrics that a score may contain, which are those that a duet measures
// at each point of a sweep. The latencies are those of the open-loop phase.
func ScoreMetrics() []string {
	return []string{
		"cycles_per_s", "server_cpu_us_per_cycle", "client_cpu_us_per_cycle", "server_allocs_per_cycle", "server_alloc_bytes_per_cycle",
		"storage_fsyncs_per_cycle", "server_rss_mb_max",
		"enqueue_latency_ms_p50", "enqueue_latency_ms_p95", "enqueue_latency_ms_p99",
		"cycle_latency_ms_p50", "cycle_latency_ms_p95", "cycle_latency_ms_p99",
	}
}

// DefaultScore returns the score of a scenario without a score block: the 95th percentiles of the
// enqueue and cycle latencies, with equal weights.
func DefaultScore() Score {
	return Score{Metrics: []ScoreMetric{{"enqueue_latency_ms_p95", 1}, {"cycle_latency_ms_p95", 1}}}
}

var (
	scoreBlock = hclfile.Inner{
		Names:   hclfile.Names{Blocks: []string{"metric"}},
		Example: `score { metric "cycle_latency_ms_p95" {} }`, Once: true,
	}
	scoreMetricBlock = hclfile.Inner{
		Names: hclfile.Names{Attributes: []string{"weight"}},
		Label: "name", Example: `metric "cycle_latency_ms_p95" {}`, Required: true,
	}
)

func readScore(s *hclfile.Block) *Score {
	blocks := s.Blocks("score", scoreBlock)
	if len(blocks) == 0 {
		return nil
	}
	score := &Score{}
	first := map[string]string{}
	for _, b := range blocks[0].Blocks("metric", scoreMetricBlock) {
		m := ScoreMetric{Name: b.Kind(ScoreMetrics(), nil), Weight: 1}
		if b.Has("weight") {
			m.Weight, _ = b.Number("weight", hclfile.NumberSpec{Example: "2"})
		}
		if where, twice := first[m.Name]; twice && m.Name != "" {
			b.LabelProblem(fmt.Sprintf("the score has %s twice", m.Name), "the first is at "+where+"; keep one of the two")
		}
		first[m.Name] = b.Where()
		score.Metrics = append(score.Metrics, m)
	}
	return score
}
