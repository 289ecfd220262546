package metrics

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/shard"
)

// A turn of exactly 2 ms is not counted as longer. The largest turn is kept, also by the observer
// of a later tenure. Observing does not allocate.
func TestTurnsAreObserved(t *testing.T) {
	m := newTurnMetrics(2)
	observe := m.observer(1)
	for _, turn := range []shard.TurnStats{{Items: 3, Took: 2 * time.Millisecond}, {Items: 9, Took: 2*time.Millisecond + 1}, {Items: 4, Took: time.Hour}} {
		observe(turn)
	}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(m.collectors()...)
	read := func() (within2ms, count uint64, itemsMax map[string]float64) {
		families, err := registry.Gather()
		require.NoError(t, err)
		itemsMax = map[string]float64{}
		for _, f := range families {
			for _, metric := range f.GetMetric() {
				of := metric.GetLabel()[0].GetValue()
				if f.GetName() == "prony_shard_turn_items_max" {
					itemsMax[of] = metric.GetGauge().GetValue()
					continue
				}
				if of != "1" {
					continue
				}
				count = metric.GetHistogram().GetSampleCount()
				for _, b := range metric.GetHistogram().GetBucket() {
					if fmt.Sprint(b.GetUpperBound()) == "0.002" {
						within2ms = b.GetCumulativeCount()
					}
				}
			}
		}
		return within2ms, count, itemsMax
	}
	within, count, itemsMax := read()
	assert.Equal(t, uint64(1), within)
	assert.Equal(t, uint64(3), count)
	assert.Equal(t, map[string]float64{"0": 0, "1": 9}, itemsMax)

	var all sync.WaitGroup
	for begin := range 4 { // tenures may overlap briefly
		observe := m.observer(1)
		all.Go(func() {
			for items := begin; items <= 1_000+begin; items++ {
				observe(shard.TurnStats{Items: items})
			}
		})
	}
	all.Wait()
	m.observer(1)(shard.TurnStats{Items: 5})
	_, _, itemsMax = read()
	assert.Equal(t, map[string]float64{"0": 0, "1": 1_003}, itemsMax)
	items := 2_000
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		items++
		observe(shard.TurnStats{Items: items, Took: time.Millisecond})
	}))
}
