package result_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/result"
)

func small() *result.Result {
	return &result.Result{
		Run: "r1", Scenario: "small", Verdict: result.Pass,
		Points: []result.Point{{Number: 1, Name: "a=1, b=2"}},
		Rounds: []result.Round{
			{Number: 1, Point: 1, Verdict: result.Pass, WindowSeconds: 0.5, Cycles: 50, Metrics: map[string]float64{result.CyclesPerS: 100.25, result.Lost: 0}},
			{Number: 2, Point: 1, Verdict: result.Invalid, WindowSeconds: 2, Cycles: 7, Profiled: true, Metrics: map[string]float64{result.CyclesPerS: 1e7}},
			{Number: 3, Calibration: true, Verdict: result.Pass, WindowSeconds: 1, Cycles: 9, Metrics: map[string]float64{result.ServerRSSMBMax: 3}},
		},
		Metrics: map[string]result.Metric{
			result.CyclesPerS: {Median: 100.25, Low: 90, High: 110, N: 1}, result.Lost: {N: 1}, result.ServerRSSMBMax: {},
		},
	}
}

func TestCSV(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, result.WriteCSV(&out, small()))
	assert.Equal(t, `run,scenario,point,round,kind,verdict,window_s,metric,unit,value
r1,small,"a=1, b=2",1,timed,pass,0.5,cycles_per_s,1/s,100.25
r1,small,"a=1, b=2",1,timed,pass,0.5,lost,tasks,0
r1,small,"a=1, b=2",2,profiled,invalid,2,cycles_per_s,1/s,10000000
r1,small,,3,calibration,pass,1,server_rss_mb_max,MB,3
`, out.String())

	r := small()
	r.Verdict = result.Incorrect
	out.Reset()
	require.NoError(t, result.WriteCSV(&out, r))
	rows, err := csv.NewReader(&out).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 2, "the header, and the count of tasks at fault")
	assert.Equal(t, "lost", rows[1][7])
}

func TestK6Summary(t *testing.T) {
	r := small()
	var out bytes.Buffer
	golden.Cases(t, "testdata/k6summary.golden").Error(t, "a sweep", result.WriteK6Summary(&out, r))
	assert.Empty(t, out.String())
	r.Points = nil
	require.NoError(t, result.WriteK6Summary(&out, r))
	var summary struct {
		Metrics map[string]map[string]float64 `json:"metrics"`
		Root    map[string]any                `json:"root_group"`
	}
	require.NoError(t, json.NewDecoder(strings.NewReader(out.String())).Decode(&summary))
	assert.Equal(t, map[string]map[string]float64{
		"cycles_per_s": {"value": 100.25, "min": 90, "max": 110},
		"lost":         {"value": 0, "min": 0, "max": 0},
		"iterations":   {"count": 50, "rate": 100.25},
	}, summary.Metrics, "metrics without rounds are left out, and only timed rounds are counted")
	assert.Contains(t, summary.Root, "checks")

	r.Verdict = result.Incorrect
	out.Reset()
	require.NoError(t, result.WriteK6Summary(&out, r))
	assert.NotContains(t, out.String(), "cycles_per_s")
	assert.NotContains(t, out.String(), "iterations")
	assert.Contains(t, out.String(), "lost")
}
