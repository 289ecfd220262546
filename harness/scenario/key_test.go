package scenario

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRepetitionsAreAShare(t *testing.T) {
	none := parsed(t, readingScenario(""))
	for text, want := range map[string]float64{"": 0, "key = 0": 0, "key = 0.25": 0.25, "key = 1": 1} {
		s := parsed(t, readingScenario(text))
		w := s.Workloads[0]
		assert.InDelta(t, want, w.Key, 0, text)
		assert.Equal(t, want > 0, w.RepeatsKeys(), text)
		assert.Equal(t, want > 0, strings.Contains(s.Work(nil), "workload.main.key "), text)
		assert.Equal(t, want == 0, none.Configuration() == s.Configuration(), text)
		stored, err := json.Marshal(w)
		require.NoError(t, err)
		var back Workload
		require.NoError(t, json.Unmarshal(stored, &back))
		assert.InDelta(t, want, back.Key, 0, text)
	}
}

func TestRepetitionsAreSwept(t *testing.T) {
	s := parsed(t, strings.TrimSuffix(readingScenario(""), "}")+`  sweep "workload.main.key" { values = [0, 0.5] }
}`)
	require.Len(t, s.Points, 2)
	assert.InDelta(t, 0.5, s.Points[1].Workloads[0].Key, 0)
}
