package scenario

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFailures(t *testing.T) {
	for text, want := range map[string]Workload{
		"":           {},
		"fail = 0":   {},
		"fail = 0.1": {Fail: 0.1, MaxAttempts: 10, Backoff: 10 * time.Millisecond},
		"fail = 0.5\nmax_attempts = 3\nbackoff = \"250ms\"": {Fail: 0.5, MaxAttempts: 3, Backoff: 250 * time.Millisecond},
		"fail = 0\nmax_attempts = 3\nbackoff = \"250ms\"":   {},
	} {
		w := parsed(t, readingScenario(text)).Workloads[0]
		assert.Equal(t, want.Fail > 0, w.FailsTasks(), text)
		stored, err := json.Marshal(w)
		require.NoError(t, err)
		var back Workload
		require.NoError(t, json.Unmarshal(stored, &back))
		for _, of := range []Workload{w, back} {
			assert.InDelta(t, want.Fail, of.Fail, 0, text)
			assert.Equal(t, want.MaxAttempts, of.MaxAttempts, text)
			assert.Equal(t, want.Backoff, of.Backoff, text)
		}
	}
}

// A scenario without failures is stored as before failures existed, even if it sets max_attempts
// and backoff.
func TestNoFailuresAreTheDefault(t *testing.T) {
	none := parsed(t, readingScenario(""))
	for _, word := range []string{"fail", "attempts", "backoff"} {
		assert.NotContains(t, none.Work(nil), word)
	}
	assert.Equal(t, none.Configuration(), parsed(t, readingScenario("fail = 0\nmax_attempts = 3\nbackoff = \"1s\"")).Configuration())
	assert.NotEqual(t, none.Configuration(), parsed(t, readingScenario("fail = 0.1")).Configuration())
}

func TestFailuresAreSwept(t *testing.T) {
	s := parsed(t, strings.TrimSuffix(readingScenario("max_attempts = 5\nfail = 0"), "}")+`  sweep "workload.main.fail" { values = [0, 0.25] }
}`)
	require.Len(t, s.Points, 2)
	assert.Equal(t, Workload{}.MaxAttempts, s.Points[0].Workloads[0].MaxAttempts)
	assert.Equal(t, 5, s.Points[1].Workloads[0].MaxAttempts)
	assert.InDelta(t, 0.25, s.Points[1].Workloads[0].Fail, 0)
}
