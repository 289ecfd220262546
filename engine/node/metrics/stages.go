package metrics

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pronybench/prony/engine/internal/stages"
)

type stageCollector struct {
	desc   *prometheus.Desc
	of     []stages.Times // one per shard
	before stages.Times   // stages before a batch reaches its shard; their label shard is empty
}

func newStageCollector(shards int) *stageCollector {
	return &stageCollector{
		desc: prometheus.NewDesc("prony_stage_seconds",
			"Time that batches of commands spend in a stage of a shard's pipeline; for inbox, the time of the oldest command of each batch; for receive, the time of a message of a stream or of a call, before any shard.",
			[]string{"stage", "shard"}, nil),
		of: make([]stages.Times, shards),
	}
}

// Describe implements prometheus.Collector.
func (c *stageCollector) Describe(out chan<- *prometheus.Desc) { out <- c.desc }

// Collect implements prometheus.Collector. It omits stages without any measured batch.
func (c *stageCollector) Collect(out chan<- prometheus.Metric) {
	for shard := range c.of {
		c.collect(out, &c.of[shard], strconv.Itoa(shard))
	}
	c.collect(out, &c.before, "")
}

func (c *stageCollector) collect(out chan<- prometheus.Metric, times *stages.Times, shard string) {
	for _, stage := range stages.All() {
		h := times.Read(stage)
		if h.Count == 0 {
			continue
		}
		upto := make(map[float64]uint64, len(h.Upto))
		for i, n := range h.Upto {
			upto[stages.Bound(i).Seconds()] = n
		}
		out <- prometheus.MustNewConstHistogram(c.desc, h.Count, h.Sum.Seconds(), upto, stage.String(), shard)
	}
}
