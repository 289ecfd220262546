package scenario

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
)

func scored(t *testing.T, block string) (*Scenario, error) {
	t.Helper()
	all, err := parse("x.hcl", []byte(complete(t, block)), nil)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

func TestScore(t *testing.T) {
	s, err := scored(t, "score {\n metric \"cycles_per_s\" {\n weight = 2\n}\n metric \"cycle_latency_ms_p99\" {}\n}\n")
	require.NoError(t, err)
	assert.Equal(t, &Score{Metrics: []ScoreMetric{{"cycles_per_s", 2}, {"cycle_latency_ms_p99", 1}}}, s.Score)
	without, err := scored(t, "rounds = 7\n")
	require.NoError(t, err)
	assert.Nil(t, without.Score)
	assert.Equal(t, without.Configuration(), s.Configuration(), "a score is not part of the configuration")
	assert.Empty(t, Differences(without, s))
	for _, m := range DefaultScore().Metrics {
		assert.Contains(t, ScoreMetrics(), m.Name)
	}
}

func TestScoreMistakes(t *testing.T) {
	s := golden.Cases(t, "testdata/scores.golden")
	_, err := scored(t, "score {\n metric \"cycle_per_s\" {}\n metric \"cycles_per_s\" {\n weight = 0\n}\n metric \"cycles_per_s\" {\n wait = 1\n}\n}\nscore {}\n")
	s.Error(t, "mistakes", err)
	_, err = scored(t, "score {}\n")
	s.Error(t, "empty", err)
}

// The scenario of ratchets has the score and the numbers of workers that `prony ratchet` uses by
// default.
func TestScenarioOfRatchets(t *testing.T) {
	all, err := Load("../../scenarios/ratchet.hcl")
	require.NoError(t, err)
	assert.Equal(t, DefaultScore(), *all[0].Score)
	var workers []int
	for _, p := range all[0].Points {
		workers = append(workers, p.Workloads[0].Workers)
	}
	assert.Equal(t, []int{1, 2, 4, 8, 16, 32, 64}, workers)
}
