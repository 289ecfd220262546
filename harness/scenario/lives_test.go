package scenario

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The attributes extend, key and cancel behave equally when they are read, stored, displayed and swept.
func TestSharesOfLives(t *testing.T) {
	for attribute, of := range map[string]struct {
		share func(Workload) float64
		does  func(Workload) bool
	}{
		"extend": {func(w Workload) float64 { return w.Extend }, Workload.ExtendsLeases},
		"key":    {func(w Workload) float64 { return w.Key }, Workload.RepeatsKeys},
		"cancel": {func(w Workload) float64 { return w.Cancel }, Workload.CancelsTasks},
	} {
		t.Run(attribute, func(t *testing.T) {
			none := parsed(t, readingScenario(""))
			for value, want := range map[string]float64{"": 0, "0": 0, "0.25": 0.25, "0.75": 0.75} {
				text := ""
				if value != "" {
					text = attribute + " = " + value
				}
				s := parsed(t, readingScenario(text))
				w := s.Workloads[0]
				assert.InDelta(t, want, of.share(w), 0, text)
				assert.Equal(t, want > 0, of.does(w), text)
				assert.Equal(t, want > 0, strings.Contains(s.Work(nil), "workload.main."+attribute+" "), text)
				assert.Equal(t, want == 0, none.Configuration() == s.Configuration(), text)
				stored, err := json.Marshal(w)
				require.NoError(t, err)
				var back Workload
				require.NoError(t, json.Unmarshal(stored, &back))
				assert.InDelta(t, want, of.share(back), 0, text)
			}
			s := parsed(t, strings.TrimSuffix(readingScenario(""), "}")+fmt.Sprintf("  sweep %q { values = [0, 0.5] }\n}", "workload.main."+attribute))
			require.Len(t, s.Points, 2)
			assert.InDelta(t, 0.5, of.share(s.Points[1].Workloads[0]), 0)
		})
	}
}
