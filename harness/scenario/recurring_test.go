package scenario

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
)

func withRecurring(block string) string {
	return strings.TrimSuffix(readingScenario(""), "}") + "  " + block + "\n}"
}

// multiline writes each attribute of a block on its own line.
func multiline(block string) string {
	return strings.NewReplacer("{ ", "{\n", " interval", "\ninterval", " }", "\n}").Replace(block)
}

func TestRecurring(t *testing.T) {
	none := parsed(t, readingScenario(""))
	assert.Nil(t, none.Recurring)
	s := parsed(t, withRecurring(`recurring { tasks = 7 }`))
	assert.Equal(t, &Recurring{Tasks: 7, Interval: time.Second}, s.Recurring)
	assert.NotEqual(t, none.Configuration(), s.Configuration())
	assert.Contains(t, s.Work(nil), "recurring.interval = 1s\nrecurring.tasks = 7\n")
	stored, err := json.Marshal(s.Recurring)
	require.NoError(t, err)
	var back Recurring
	require.NoError(t, json.Unmarshal(stored, &back))
	assert.Equal(t, *s.Recurring, back)
}

func TestProblemsOfRecurring(t *testing.T) {
	texts := golden.Cases(t, "testdata/recurring.golden")
	for _, block := range []string{
		`recurring {}`, `recurring { tasks = 0 }`, `recurring { tasks = 20000 }`, `recurring { tasks = 3000 }`, `recurring { task = 1 }`,
		`recurring { tasks = 1 interval = 5 }`, `recurring { tasks = 1 interval = "10ms" }`, `recurring { tasks = 1 interval = "10s" }`,
		`recurring { cron = "* * * * *" }`, `recurring "a" { tasks = 1 }`,
	} {
		_, err := parse("a.hcl", []byte(withRecurring(multiline(block))), nil)
		texts.Error(t, block, err)
	}
	for name, text := range map[string]string{
		"embedded": strings.ReplaceAll(strings.ReplaceAll(withRecurring(`recurring { tasks = 1 }`), `"single"`, `"embedded"`), `"stream"`, `"embedded"`),
		"a fault": strings.ReplaceAll(withRecurring(`recurring { tasks = 1 }
  fault "kill" {
    target        = leader()
    at            = "2s"
    restart_after = "1s"
  }`), `topology "single" { durability = "none" }`, "topology \"raft\" {\n    nodes = 3\n    durability = \"none\"\n  }"),
	} {
		_, err := parse("a.hcl", []byte(text), nil)
		texts.Error(t, name, err)
	}
}
