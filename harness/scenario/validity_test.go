package scenario

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const valid = `scenario "a" {
  topology "single" { durability = "none" }
  workload "main" {
    driver    = "stream"
    producers = 1
    workers   = 1
    payload   = fixed(64)
  }
  phases { window = "1s" }
  `

func TestValidityDefaults(t *testing.T) {
	for _, block := range []string{"", "validity {}", `validity { on_breach = "invalid" }`} {
		all, err := parse("a.hcl", []byte(valid+block+"\n}\n"), nil)
		require.NoError(t, err)
		v := all[0].Validity
		assert.False(t, v.Warn)
		for _, l := range ValidityLimits() {
			assert.Equal(t, l.Default, l.In(v), "%s with %q", l.Name, block)
		}
		assert.Equal(t, new(10.0), v.ForeignCPUPercentMax)
		assert.Nil(t, v.PressureCPUPercentMax, "a closed load always causes pressure")
	}
}

func TestValidityAny(t *testing.T) {
	all, err := parse("a.hcl", []byte(valid+`validity { clock_step_ms_max = "any" }`+"\n}\n"), nil)
	require.NoError(t, err)
	assert.Nil(t, all[0].Validity.ClockStepMsMax)
	assert.Equal(t, "any", stored(t, all[0].Validity)["clock_step_ms_max"])
	assert.NotNil(t, all[0].Validity.StealPercentMax)
}

// Each limit has a distinct field.
func TestValidityLimitsAreDistinct(t *testing.T) {
	var v Validity
	for i, l := range ValidityLimits() {
		*l.of(&v) = new(float64(i))
	}
	for i, l := range ValidityLimits() {
		assert.Equal(t, new(float64(i)), l.In(v), l.Name)
		assert.Contains(t, stored(t, v), l.Name)
	}
}

// stored returns the limits as decoded from their JSON form.
func stored(t *testing.T, v Validity) (limits map[string]any) {
	t.Helper()
	text, err := json.Marshal(v)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &limits))
	return limits
}

// A limit that did not exist when a run was stored is nil, and it is not a difference to later
// runs.
func TestALimitThatWasNotRecorded(t *testing.T) {
	t.Parallel()
	now := parsed(t, valid+"}")
	encoded, err := json.Marshal(now)
	require.NoError(t, err)
	stored := strings.Replace(string(encoded), `"backlog_growth_percent_max":100,`, "", 1)
	require.NotEqual(t, string(encoded), stored)
	var old Scenario
	require.NoError(t, json.Unmarshal([]byte(stored), &old))

	assert.Nil(t, old.Validity.BacklogGrowthPercentMax)
	assert.Contains(t, old.Settings(), Setting{Path: "validity.backlog_growth_percent_max", Value: NotRecorded, Default: "100"})
	assert.Empty(t, Differences(&old, now))
	assert.Empty(t, Differences(now, &old))
	again, err := json.Marshal(&old)
	require.NoError(t, err)
	assert.JSONEq(t, stored, string(again))
}
