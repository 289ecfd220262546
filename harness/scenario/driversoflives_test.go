package scenario

import (
	"testing"

	"github.com/pronybench/prony/engine/golden"
)

// A workload of k6 supports none of the attributes of the life cycle of tasks.
func TestScriptsDecideTheLivesOfTheirTasks(t *testing.T) {
	s := golden.Cases(t, "testdata/scripts.golden")
	for _, attribute := range []string{
		"fail = 0.1", `delay = share("1s", 0.1)`, `result = share("1KiB", 0.1)`, "extend = 0.1", "key = 0.1", "unique = until_finished(10)", "cancel = 0.1", "headers = 2",
		"final_tasks = true",
	} {
		text := `scenario "s" {
  topology "single" { durability = "none" }
  workload "main" {
    driver    = "k6"
    script    = "k6/cycle.js"
    producers = 1
    workers   = 1
    ` + attribute + `
  }
  phases { window = "5s" }
}`
		_, err := parse("../../scenarios/example.hcl", []byte(text), nil)
		s.Error(t, attribute, err)
	}
}
