package observe

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A maximum over several shards is not summed.
func TestTheLargestOfSeveralShardsIsKept(t *testing.T) {
	m, err := ScrapeAll(t.Context(), admin(t, "/metrics", `# TYPE items_max gauge
items_max{shard="0"} 7
items_max{shard="1"} 9
items_max{shard="2"} 8
# TYPE depth gauge
depth{shard="0",state="ready"} 7
depth{shard="1",state="ready"} 9
# TYPE slow gauge
slow{cause="gc"} 3
slow{cause="flush"} 4
sets{step="claim",shard="0"} 5
sets{step="claim",shard="1"} 6
`))
	require.NoError(t, err)
	assert.Equal(t, map[string]float64{"items_max": 9, `depth{state="ready"}`: 16, `slow{cause="gc"}`: 3, `slow{cause="flush"}`: 4, `sets{step="claim"}`: 11}, m.Values)

	all := map[string]float64{}
	for _, v := range []float64{-2, -1, -3} {
		Combine(all, `least_max{stage="a_max"}`, v)
		Combine(all, `sum{stage="a_max"}`, v)
	}
	assert.Equal(t, map[string]float64{`least_max{stage="a_max"}`: -1, `sum{stage="a_max"}`: -6}, all)
}

// A server's window of loss is the sum over all its shards, and the age of its oldest
// acknowledgement their maximum.
func TestTheWindowOfLossOfSeveralShards(t *testing.T) {
	m, err := parseMetrics([]byte(`prony_unsynced_tasks{shard="0"} 5
prony_unsynced_tasks{shard="1"} 7
prony_unsynced_seconds{shard="0"} 3
prony_unsynced_seconds{shard="1"} 2
`))
	require.NoError(t, err)
	assert.Equal(t, map[string]float64{"prony_unsynced_tasks": 12, UnsyncedSeconds: 3}, m.Values)
}

// A build from before the renaming of the counter can be the base of a comparison.
func TestTheFsyncTimeOfAnEarlierServer(t *testing.T) {
	for page, want := range map[string]float64{
		`prony_storage_fsync_seconds_total{shard="0"} 0.25
prony_storage_fsync_seconds_total{shard="1"} 0.5
`: 0.75,
		`prony_storage_fsync_microseconds_total{shard="0"} 250000
prony_storage_fsync_microseconds_total{shard="1"} 500000
`: 0.75,
	} {
		m, err := ScrapeAll(t.Context(), admin(t, "/metrics", page))
		require.NoError(t, err)
		assert.Equal(t, map[string]float64{FsyncSeconds: want}, m.Values, page)
	}
}
