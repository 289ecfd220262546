//go:build planted

package planted

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestBeginTakesTheFaultAndItsAmount(t *testing.T) {
	for text, want := range map[string]amount{
		"cpu":       {time: 5 * time.Microsecond},
		"cpu:500ns": {time: 500 * time.Nanosecond},
		"scan:10":   {count: 10},
	} {
		t.Setenv(variable, text)
		require.NoError(t, Begin(), text)
		assert.Equal(t, want, fault.amount)
	}
	for text, problem := range map[string]string{
		"cup":       `names the fault "cup": use one of alloc, channel, cpu, fsync, lock, rpc, scan, timer`,
		":1":        `names the fault ""`,
		"cpu:5":     `the amount "5"`,
		"cpu:-5us":  "use more than 0",
		"cpu:1h":    "at most 1s",
		"scan:few":  "it is not a number",
		"scan:0":    "use 1 to",
		"fsync:1e9": "it is not a number",
	} {
		t.Setenv(variable, text)
		assert.ErrorContains(t, Begin(), problem, text)
	}
}
