package metrics

import (
	"strconv"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pronybench/prony/engine/shard"
)

// turnMetrics measures the durations of the turns of the shards' deciding goroutines. A command
// waits for the end of the current turn. The longest turn is therefore the maximum delay that one
// tenant's command causes for commands of other tenants.
type turnMetrics struct {
	seconds  *prometheus.HistogramVec // label: shard
	itemsMax []atomic.Int64           // by shard; maximum since the process started
}

func newTurnMetrics(shards int) *turnMetrics {
	return &turnMetrics{
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "prony_shard_turn_seconds", Help: "Time of a turn of a shard's deciding goroutine.",
			// The bounds are from 31.25 µs to 256 ms. One of them is exactly 2 ms.
			Buckets: prometheus.ExponentialBuckets(2e-3/64, 2, 14),
		}, []string{"shard"}),
		itemsMax: make([]atomic.Int64, shards),
	}
}

func (m *turnMetrics) collectors() []prometheus.Collector {
	out := []prometheus.Collector{m.seconds}
	for i := range m.itemsMax {
		out = append(out, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name:        "prony_shard_turn_items_max",
			Help:        "Most tasks, leases, waiters and queues that one turn of a shard's deciding goroutine handled since the process started.",
			ConstLabels: shardLabel(i),
		}, func() float64 { return float64(m.itemsMax[i].Load()) }))
	}
	return out
}

// observer returns the function that observes the turns of shard i. All tenures of this node use
// the same series.
func (m *turnMetrics) observer(i int) func(shard.TurnStats) {
	seconds, itemsMax := m.seconds.WithLabelValues(strconv.Itoa(i)), &m.itemsMax[i]
	return func(t shard.TurnStats) {
		seconds.Observe(t.Took.Seconds())
		items := int64(t.Items)
		for most := itemsMax.Load(); items > most && !itemsMax.CompareAndSwap(most, items); most = itemsMax.Load() {
		}
	}
}
