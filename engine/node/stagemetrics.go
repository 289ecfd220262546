package node

import (
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pronybench/prony/engine/internal/stages"
)

// stageCollector shows the times of the shards' stages.
type stageCollector struct {
	desc *prometheus.Desc

	mu sync.Mutex
	of map[int]*stages.Times // by shard
}

func newStageCollector() *stageCollector {
	return &stageCollector{
		desc: prometheus.NewDesc("prony_stage_seconds",
			"Time that batches of commands spend in a stage of a shard's pipeline; of inbox, that of the oldest command of each batch.",
			[]string{"stage", "shard"}, nil),
		of: map[int]*stages.Times{},
	}
}

// stageTimes returns the times of a shard, the same whenever it is asked: a shard that this node leads again goes on
// with them.
func (m *metrics) stageTimes(shard int) *stages.Times {
	c := m.stages
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of[shard] == nil {
		c.of[shard] = &stages.Times{}
	}
	return c.of[shard]
}

// Describe implements prometheus.Collector.
func (c *stageCollector) Describe(out chan<- *prometheus.Desc) { out <- c.desc }

// Collect implements prometheus.Collector. It leaves out stages that nothing has passed.
func (c *stageCollector) Collect(out chan<- prometheus.Metric) {
	c.mu.Lock()
	of := maps.Clone(c.of)
	c.mu.Unlock()
	for _, shard := range slices.Sorted(maps.Keys(of)) {
		for _, stage := range stages.All() {
			h := of[shard].Read(stage)
			if h.Count == 0 {
				continue
			}
			upto := make(map[float64]uint64, len(h.Upto))
			for i, n := range h.Upto {
				upto[stages.Bound(i).Seconds()] = n
			}
			out <- prometheus.MustNewConstHistogram(c.desc, h.Count, h.Sum.Seconds(), upto, stage.String(), strconv.Itoa(shard))
		}
	}
}
