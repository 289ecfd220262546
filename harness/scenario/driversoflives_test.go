package scenario

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A script of k6 has none of the attributes that lead tasks through other lives.
func TestScriptsDecideTheLivesOfTheirTasks(t *testing.T) {
	for attribute, says := range map[string]string{
		"fail = 0.1":                  `a script of the driver "k6" decides itself which tasks it fails`,
		`delay = share("1s", 0.1)`:    `a script of the driver "k6" decides itself which delays its tasks have`,
		`result = share("1KiB", 0.1)`: `a script of the driver "k6" decides itself which results its tasks have`,
		"extend = 0.1":                `a script of the driver "k6" decides itself which leases it extends`,
		"key = 0.1":                   `a script of the driver "k6" decides itself which keys its tasks have`,
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
