package scenario

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestResults(t *testing.T) {
	for text, want := range map[string]Results{
		"":                              {},
		`result = share("1KiB", 0)`:     {},
		`result = share("1KiB", 0.1)`:   {Size: 1024, Part: 0.1},
		`result = share(32, 1)`:         {Size: 32, Part: 1},
		`result = share("256KiB", 0.5)`: {Size: 256 << 10, Part: 0.5},
	} {
		w := parsed(t, readingScenario(text)).Workloads[0]
		assert.Equal(t, want, w.Result, text)
		stored, err := json.Marshal(w)
		require.NoError(t, err)
		var back Workload
		require.NoError(t, json.Unmarshal(stored, &back))
		assert.Equal(t, w.Result, back.Result, text)
	}
	assert.Equal(t, "share(1024, 0.1)", Results{Size: 1024, Part: 0.1}.String())
}

// A scenario without results is stored as before results existed, and so is one with a part of 0.
func TestNoResultsAreTheDefault(t *testing.T) {
	none := parsed(t, readingScenario(""))
	assert.NotContains(t, none.Work(nil), "result")
	assert.Equal(t, none.Configuration(), parsed(t, readingScenario(`result = share("1KiB", 0)`)).Configuration())
	assert.NotEqual(t, none.Configuration(), parsed(t, readingScenario(`result = share("1KiB", 0.1)`)).Configuration())
}

func TestResultsAreSwept(t *testing.T) {
	s := parsed(t, strings.TrimSuffix(readingScenario(""), "}")+`  sweep "workload.main.result" { values = [share("1KiB", 0), share("1KiB", 0.1)] }
}`)
	require.Len(t, s.Points, 2)
	assert.True(t, s.Points[0].Workloads[0].Result.IsZero())
	assert.Equal(t, Results{Size: 1024, Part: 0.1}, s.Points[1].Workloads[0].Result)
}
