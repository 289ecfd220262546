package run

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/result"
)

// A round has the store operations of each step in the window, over all servers. It has none if
// servers do not count by step or lost a part of their counts.
func TestStorageStepsAreThoseOfTheWindow(t *testing.T) {
	server := func(from, to float64) *serverProbe {
		counters := func(n float64) map[string]float64 {
			return map[string]float64{
				`prony_storage_step_encodes_total{step="enqueue"}`: n, `prony_storage_step_encoded_bytes_total{step="enqueue"}`: 80 * n,
				`prony_storage_step_sets_total{step="commit"}`: 2 * n, `prony_storage_step_set_bytes_total{step="commit"}`: 90 * n,
				`prony_storage_step_gets_total{step="claim"}`: 3 * n, `prony_storage_step_scanned_keys_total{step="claim"}`: 4 * n,
				`prony_storage_step_decodes_total{step="claim"}`: 5 * n, `prony_storage_step_deletes_total{step="settle"}`: 6 * n,
				completedCounter: n,
			}
		}
		return &serverProbe{countersBefore: counters(from), countersAfter: counters(to)}
	}
	w := &counters{servers: []*serverProbe{server(100, 300), server(0, 50)}}
	m := &measured{round: result.Round{Cycles: 240, Metrics: map[string]float64{}}}
	w.storage(m)
	require.NotNil(t, m.round.StorageSteps)
	assert.Equal(t, result.StorageSteps{Cycles: 250, Steps: []result.StorageStep{
		{Name: result.StepEnqueue, Encodes: 250, EncodedBytes: 80 * 250},
		{Name: result.StepClaim, Gets: 3 * 250, ScannedKeys: 4 * 250, Decodes: 5 * 250},
		{Name: result.StepSettle, Deletes: 6 * 250},
		{Name: result.StepCommit, Sets: 2 * 250, SetBytes: 90 * 250},
		{Name: result.StepOther},
	}}, *m.round.StorageSteps)

	w.servers[1].partial = true
	m = &measured{round: result.Round{Cycles: 240, Metrics: map[string]float64{}}}
	w.storage(m)
	assert.Nil(t, m.round.StorageSteps, "a server lost its counts")
	w.servers = []*serverProbe{{countersAfter: map[string]float64{completedCounter: 10}}}
	w.storage(m)
	assert.Nil(t, m.round.StorageSteps, "an older build")
}
