package scenario

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A workload of k6 supports none of the attributes of the life cycle of tasks.
func TestScriptsDecideTheLivesOfTheirTasks(t *testing.T) {
	for attribute, says := range map[string]string{
		"fail = 0.1":                  `the script of the driver "k6" decides the tasks to fail`,
		`delay = share("1s", 0.1)`:    `the script of the driver "k6" decides the delays of its tasks`,
		`result = share("1KiB", 0.1)`: `the script of the driver "k6" decides the results of its tasks`,
		"extend = 0.1":                `the script of the driver "k6" decides the leases to extend`,
		"key = 0.1":                   `the script of the driver "k6" decides the keys of its tasks`,
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
		require.ErrorContains(t, err, says)
	}
}
