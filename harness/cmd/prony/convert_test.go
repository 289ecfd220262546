package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestConvert(t *testing.T) {
	inFolder(t)
	write(t, "summary.json", `{"metrics": {"iteration_duration": {"avg": 1.5, "p(95)": 4}}}`)

	got := prony(t, "convert", "summary.json", "--to", "bench")
	require.Equal(t, 0, got.code, got.stderr)
	assert.Equal(t, "BenchmarkK6 1 1.5 iteration_duration.avg 4 iteration_duration.p(95)\n", got.stdout)

	write(t, "bench.txt", got.stdout)
	got = prony(t, "convert", "bench.txt", "--to", "csv")
	require.Equal(t, 0, got.code, got.stderr)
	assert.Equal(t, "name,round,metric,unit,value\nK6,1,iteration_duration.avg,,1.5\nK6,1,iteration_duration.p(95),,4\n", got.stdout)

	write(t, "figures.csv", got.stdout)
	got = prony(t, "convert", "figures.csv", "--to", "k6")
	require.Equal(t, 0, got.code, got.stderr)
	assert.JSONEq(t, `{"metrics": {"iteration_duration": {"avg": 1.5, "p(95)": 4}}}`, got.stdout)

	got = prony(t, "convert", "summary.json", "--json")
	require.Equal(t, 0, got.code, got.stderr)
	assert.JSONEq(t, `{"figures": [{"name": "k6", "round": 1, "metric": "iteration_duration.avg", "value": 1.5},
		{"name": "k6", "round": 1, "metric": "iteration_duration.p(95)", "value": 4}]}`, got.stdout)
}
