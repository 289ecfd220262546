package scenario

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestExtensionsAreAShare(t *testing.T) {
	none := parsed(t, readingScenario(""))
	for text, want := range map[string]float64{"": 0, "extend = 0": 0, "extend = 0.25": 0.25, "extend = 1": 1} {
		s := parsed(t, readingScenario(text))
		w := s.Workloads[0]
		assert.InDelta(t, want, w.Extend, 0, text)
		assert.Equal(t, want > 0, w.ExtendsLeases(), text)
		assert.Equal(t, want > 0, strings.Contains(s.Work(nil), "extend"), text)
		assert.Equal(t, want == 0, none.Configuration() == s.Configuration(), text)
		stored, err := json.Marshal(w)
		require.NoError(t, err)
		var back Workload
		require.NoError(t, json.Unmarshal(stored, &back))
		assert.InDelta(t, want, back.Extend, 0, text)
	}
}

func TestExtensionsAreSwept(t *testing.T) {
	s := parsed(t, strings.TrimSuffix(readingScenario(""), "}")+`  sweep "workload.main.extend" { values = [0, 0.5] }
}`)
	require.Len(t, s.Points, 2)
	assert.InDelta(t, 0.5, s.Points[1].Workloads[0].Extend, 0)
}
