package scenario

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
)

func TestHeaders(t *testing.T) {
	none := parsed(t, readingScenario(""))
	assert.False(t, none.Workloads[0].HasHeaders())
	s := parsed(t, readingScenario("headers = 5"))
	w := s.Workloads[0]
	assert.Equal(t, 5, w.Headers)
	assert.True(t, w.HasHeaders())
	assert.Contains(t, s.Work(nil), "workload.main.headers = 5")
	assert.NotEqual(t, none.Configuration(), s.Configuration())
	stored, err := json.Marshal(w)
	require.NoError(t, err)
	var back Workload
	require.NoError(t, json.Unmarshal(stored, &back))
	assert.Equal(t, 5, back.Headers)
	swept := parsed(t, strings.TrimSuffix(readingScenario(""), "}")+`  sweep "workload.main.headers" { values = [0, 5] }
}`)
	require.Len(t, swept.Points, 2)
	assert.Equal(t, none.Configuration(), parsed(t, readingScenario("headers = 0")).Configuration())
	assert.Equal(t, 5, swept.Points[1].Workloads[0].Headers)
}

func TestProblemsOfHeaders(t *testing.T) {
	texts := golden.Cases(t, "testdata/headers.golden")
	for _, text := range []string{"headers = -1", "headers = 33", "headers = 1.5", `headers = "x"`, "headers = {}"} {
		_, err := parse("a.hcl", []byte(readingScenario(text)), nil)
		texts.Error(t, text, err)
	}
}
