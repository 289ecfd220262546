package metrics

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/queue"
)

// gathered returns the metrics of a collector by name and labels.
func gathered(t *testing.T, c prometheus.Collector) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	families, err := registry.Gather()
	require.NoError(t, err)
	out := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			key := f.GetName()
			for _, l := range m.GetLabel() {
				key += " " + l.GetValue()
			}
			out[key] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return out
}

func TestQueueSeriesAreBounded(t *testing.T) {
	var stats []queue.Stats
	for i := range uint64(5) {
		stats = append(stats, queue.Stats{
			Tenant: "t", Name: fmt.Sprint(i), Ready: i, Delayed: 10 * i, Waiting: 50 * i, Leased: 100 * i, Dead: 1000 * i, Parked: i, Enqueued: 10_000 * i, Completed: 3,
			Removed: 7, Bytes: 1 << i, ReadySinceMs: 60_000 - 1_000*int64(i), Paused: i >= 3,
			Events: queue.Events{FailedAttempts: i, ExpiredLeases: 10 * i, Retries: 100 * i, Cancelled: 1_000 * i, Died: [5]uint64{0, i, 10 * i, 100 * i, 1_000 * i}},
		})
	}
	// A queue may have that name.
	stats = append(stats, queue.Stats{Tenant: "t", Name: otherQueues, Ready: 9_999, ReadySinceMs: math.MaxInt64})
	c := newQueueCollector(func() ([]queue.Stats, error) { return stats, nil }, func() int64 { return 60_500 }, true)
	all := gathered(t, c)
	assert.InDelta(t, 35, all["prony_removed_total"], 0)
	assert.InDelta(t, 31, all["prony_payload_bytes"], 0)
	assert.InDelta(t, 10, all["prony_parked_tasks"], 0)
	assert.InDelta(t, 4.5, all["prony_oldest_ready_seconds"], 0)
	assert.InDelta(t, 0.5, all["prony_queue_oldest_ready_seconds 0 t"], 0)
	assert.Zero(t, all["prony_queue_oldest_ready_seconds _other t"], "the other queues have no ready task")
	assert.InDelta(t, 6, all["prony_queues"], 0)
	assert.InDelta(t, 2, all["prony_paused_queues"], 0)
	for series, want := range map[string]float64{
		"prony_failed_attempts_total": 10, "prony_expired_leases_total": 100, "prony_retries_total": 1_000, "prony_cancelled_total": 10_000,
		"prony_dead_letters_total attempts": 10, "prony_dead_letters_total expired": 100, "prony_dead_letters_total permanent": 1_000,
		"prony_dead_letters_total dependency": 10_000, "prony_queue_tasks 2 waiting t": 100, "prony_tasks waiting": 500,
		"prony_queue_failed_attempts_total 2 t": 2, "prony_queue_expired_leases_total 2 t": 20, "prony_queue_retries_total 2 t": 200,
		"prony_queue_cancelled_total 2 t": 2_000, "prony_queue_dead_letters_total 2 attempts t": 2, "prony_queue_dead_letters_total 2 expired t": 20,
		"prony_queue_dead_letters_total 2 permanent t": 200, "prony_queue_paused 2 t": 0, "prony_queue_paused 4 t": 1,
	} {
		assert.InDelta(t, want, all[series], 0, series)
		assert.Contains(t, all, series)
	}
	assert.InDelta(t, 100_000, all["prony_enqueued_total"], 0)
	assert.InDelta(t, 15, all["prony_completed_total"], 0)
	for i := range 5 {
		assert.InDelta(t, 1000*i, all[fmt.Sprintf("prony_queue_tasks %d dead t", i)], 0)
	}
	assert.NotContains(t, all, "prony_queue_tasks _other ready ")

	c.seriesMax = 3
	few := gathered(t, c)
	assert.Less(t, len(few), len(all))
	for series, want := range map[string]float64{
		"prony_queue_tasks _other ready t": 9_999, "prony_queue_tasks 4 ready t": 4, "prony_queue_tasks 3 leased t": 300,
		"prony_queue_tasks _other ready ": 0 + 1 + 2, "prony_queue_tasks _other delayed ": 30, "prony_queue_tasks _other leased ": 300, "prony_queue_tasks _other dead ": 3_000,
		"prony_queue_enqueued_total _other ": 30_000, "prony_queue_completed_total _other ": 9,
		"prony_queue_removed_total _other ": 21, "prony_queue_payload_bytes _other ": 7, "prony_queue_oldest_ready_seconds _other ": 2.5,
		"prony_queues": 6, "prony_enqueued_total": 100_000, "prony_completed_total": 15,
	} {
		assert.InDelta(t, want, few[series], 0, series)
		assert.Contains(t, few, series)
	}
	assert.NotContains(t, few, "prony_queue_tasks 2 ready t")
	assert.Equal(t, 1_000, queueSeriesMax)
}

// Without tenants, a scrape contains no name of a tenant or queue, and its sums match those of the
// series per queue.
func TestQueueSumsNameNoTenantAndMatchTheQueues(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		type key struct{ tenant, queue string }
		keys := rapid.SliceOfNDistinct(rapid.Custom(func(r *rapid.T) key {
			return key{rapid.StringMatching(`tenant-[a-z]{1,2}`).Draw(r, "tenant"), rapid.StringMatching(`queue-[a-z]`).Draw(r, "queue")}
		}), 0, 20, rapid.ID[key]).Draw(r, "queues")
		small := rapid.Uint64Range(0, 1_000)
		const nowMs = 60_000
		stats := make([]queue.Stats, len(keys))
		for i, k := range keys {
			stats[i] = queue.Stats{
				Tenant: k.tenant, Name: k.queue, Ready: small.Draw(r, "ready"), Parked: small.Draw(r, "parked"), Delayed: small.Draw(r, "delayed"), Waiting: small.Draw(r, "waiting"), Leased: small.Draw(r, "leased"),
				Dead: small.Draw(r, "dead"), Enqueued: small.Draw(r, "enqueued"), Completed: small.Draw(r, "completed"), Removed: small.Draw(r, "removed"),
				Paused: rapid.Bool().Draw(r, "paused"), Events: queue.Events{
					FailedAttempts: small.Draw(r, "failed"), ExpiredLeases: small.Draw(r, "expired leases"), Retries: small.Draw(r, "retries"),
					Cancelled: small.Draw(r, "cancelled"),
					Died:      [5]uint64{0, small.Draw(r, "attempts"), small.Draw(r, "expired"), small.Draw(r, "permanent"), small.Draw(r, "dependency")},
				},
				Bytes: small.Draw(r, "bytes"), ReadySinceMs: rapid.Int64Range(0, nowMs).Draw(r, "ready since"),
			}
		}
		collector := func(tenants bool) *queueCollector {
			c := newQueueCollector(func() ([]queue.Stats, error) { return slices.Clone(stats), nil }, func() int64 { return nowMs }, tenants)
			c.seriesMax = rapid.IntRange(1, 25).Draw(r, "series")
			return c
		}
		sums, named := gathered(t, collector(false)), gathered(t, collector(true))
		want := map[string]float64{"prony_queues": float64(len(keys)), "prony_oldest_ready_seconds": 0, "prony_paused_queues": 0}
		for i := range stats {
			if stats[i].Paused {
				want["prony_paused_queues"]++
			}
		}
		for _, name := range []string{
			"enqueued_total", "completed_total", "removed_total", "payload_bytes", "parked_tasks", "tasks ready", "tasks delayed", "tasks waiting", "tasks leased", "tasks dead",
			"failed_attempts_total", "expired_leases_total", "retries_total", "cancelled_total",
			"dead_letters_total attempts", "dead_letters_total expired", "dead_letters_total permanent", "dead_letters_total dependency",
		} {
			want["prony_"+name] = 0
		}
		for series, value := range named {
			rest, single := strings.CutPrefix(series, "prony_queue_")
			if !single {
				continue
			}
			// The name, the queue, the state or reason if present, the tenant.
			parts := strings.Split(rest, " ")
			switch sum := "prony_" + parts[0]; {
			case len(parts) == 4:
				want[sum+" "+parts[2]] += value
			case parts[0] == "paused":
			case parts[0] == "oldest_ready_seconds":
				want[sum] = max(want[sum], value)
			default:
				want[sum] += value
			}
		}
		assert.Equal(r, want, sums)
		for series := range sums {
			assert.NotContains(r, series, "tenant-")
			assert.NotContains(r, series, "queue-")
		}
	})
}

func TestAScrapeReportsAStoppedShard(t *testing.T) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(newQueueCollector(func() ([]queue.Stats, error) { return nil, errors.New("the shard is stopping") }, nil, false))
	_, err := registry.Gather()
	require.ErrorContains(t, err, "the shard is stopping")
}
