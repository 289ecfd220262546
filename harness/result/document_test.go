package result_test

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/result"
)

func TestDocumentIsOneJSONDocument(t *testing.T) {
	r, _ := sampleResult(t)
	r.Manifest.Host.Container = "Docker"
	r.Manifest.Servers = []result.ServerSettings{{Settings: []result.ServerSetting{{Name: "memory", Value: "1GiB", Origin: "flag"}}}}
	var out bytes.Buffer
	require.NoError(t, result.NewDocument(result.NewOutcome(r, "runs/x")).WriteJSON(&out))
	decoder := json.NewDecoder(&out)
	var doc map[string]any
	require.NoError(t, decoder.Decode(&doc))
	require.ErrorIs(t, decoder.Decode(&doc), io.EOF, "exactly one")
	assert.Equal(t, "pass", doc["verdict"])
	scenario := doc["scenarios"].([]any)[0].(map[string]any)
	assert.Equal(t, "full-cycle", scenario["name"])
	assert.Equal(t, "pass", scenario["verdict"])
	assert.Equal(t, "runs/x", scenario["run"])
	assert.Equal(t, "none", scenario["durability"])
	assert.NotContains(t, scenario, "reasons")
	assert.Equal(t, "Docker", scenario["host"].(map[string]any)["container"])
	server := scenario["servers"].([]any)[0].(map[string]any)
	assert.Equal(t, "memory", server["settings"].([]any)[0].(map[string]any)["name"])
	assert.Equal(t, map[string]any{"median": 104000.0, "low": 101000.0, "high": 107000.0, "n": 7.0, "unit": "1/s"},
		scenario["metrics"].(map[string]any)["cycles_per_s"])
}

func TestDocumentTakesTheWorstVerdict(t *testing.T) {
	doc := result.NewDocument(
		result.Outcome{Name: "a", Verdict: result.Pass},
		result.Outcome{Name: "b", Verdict: result.Invalid, Reasons: []string{"queued died"}},
		result.Outcome{Name: "c", Verdict: result.Regressed},
	)
	assert.Equal(t, result.Invalid, doc.Verdict)
	var out bytes.Buffer
	require.NoError(t, doc.WriteJSON(&out))
	golden.Text(t, "testdata/document.golden", out.String())

	out.Reset()
	require.NoError(t, result.NewDocument().WriteJSON(&out))
	assert.JSONEq(t, `{"verdict":"misconfigured","scenarios":[]}`, out.String(), "a document without measurements must not pass")
}

func TestNoFigureOfAnIncorrectRun(t *testing.T) {
	r, _ := sampleResult(t)
	r.Verdict = result.Incorrect
	metrics := result.NewOutcome(r, "runs/x").Metrics
	assert.Len(t, metrics, 3)
	assert.Subset(t, metrics, []string{"lost", "duplicated", "corrupted"})
	assert.Contains(t, r.Metrics, "cycles_per_s", "the result must not be modified")
}

func TestDocumentRefusesWhatIsNotFinite(t *testing.T) {
	for _, v := range infinite {
		var out bytes.Buffer
		err := result.NewDocument(result.Outcome{Name: "a", Verdict: result.Pass, Metrics: map[string]result.Metric{
			"cycles_per_s": {Median: 1, Low: v, High: 1},
		}}).WriteJSON(&out)
		require.ErrorContains(t, err, "scenarios[0].metrics.cycles_per_s")
		assert.Empty(t, out.Bytes())
	}
}
