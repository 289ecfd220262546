package scenario

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDelays(t *testing.T) {
	for text, want := range map[string]Delay{
		"":                               {},
		`delay = share("1s", 0)`:         {},
		`delay = share("1s", 0.1)`:       {Time: time.Second, Part: 0.1},
		`delay = share("250ms", 1)`:      {Time: 250 * time.Millisecond, Part: 1},
		`delay = share("1.5s", 1/4 + 0)`: {Time: 1500 * time.Millisecond, Part: 0.25},
	} {
		w := parsed(t, readingScenario(text)).Workloads[0]
		assert.Equal(t, want, w.Delay, text)
		stored, err := json.Marshal(w)
		require.NoError(t, err)
		var back Workload
		require.NoError(t, json.Unmarshal(stored, &back))
		assert.Equal(t, w.Delay, back.Delay, text)
	}
	assert.Equal(t, `share("1.5s", 0.1)`, Delay{Time: 1500 * time.Millisecond, Part: 0.1}.String())
}

// A scenario without delays is stored as before delays existed, and so is one with a part of 0.
func TestNoDelaysAreTheDefault(t *testing.T) {
	none := parsed(t, readingScenario(""))
	assert.NotContains(t, none.Work(nil), "delay")
	assert.Equal(t, none.Configuration(), parsed(t, readingScenario(`delay = share("1s", 0)`)).Configuration())
	assert.NotEqual(t, none.Configuration(), parsed(t, readingScenario(`delay = share("1s", 0.1)`)).Configuration())
}

func TestDelaysAreSwept(t *testing.T) {
	s := parsed(t, strings.TrimSuffix(readingScenario(""), "}")+`  sweep "workload.main.delay" { values = [share("1s", 0), share("1s", 0.1)] }
}`)
	require.Len(t, s.Points, 2)
	assert.True(t, s.Points[0].Workloads[0].Delay.IsZero())
	assert.Equal(t, Delay{Time: time.Second, Part: 0.1}, s.Points[1].Workloads[0].Delay)
}
