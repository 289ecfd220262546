package scenario_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/pronybench/prony/harness/scenario"
)

// load writes a file and loads it. Its errors contain the file's name without the folder.
func load(source string) ([]*scenario.Scenario, error) {
	dir, err := os.MkdirTemp("", "scenario")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "example.hcl")
	if err := os.WriteFile(path, []byte(source[1:]), 0o600); err != nil {
		return nil, err
	}
	all, err := scenario.Load(path)
	if err != nil {
		return nil, errors.New(strings.ReplaceAll(err.Error(), dir+string(filepath.Separator), ""))
	}
	return all, nil
}

// Each point of a scenario with a sweep has a separate set of rounds.
func ExampleLoad() {
	scenarios, err := load(`
variable "workers" { default = 16 }

scenario "open-load" {
  topology "single" { durability = "sync" }
  workload "main" {
    driver    = "stream"
    producers = 8
    workers   = var.workers
    arrivals  = rate("2k/s")
  }
  phases { warmup = "2s"  window = "10s"  drain = "3s" }
  rounds = 6
  sweep "workload.main.batch" { values = [1, 16] }
  invariant "conserved" {}
}
`)
	if err != nil {
		fmt.Println(err)
		return
	}
	s := scenarios[0]
	for _, p := range s.Plan() {
		tasks, _ := p.Offered(s.Phases.Window)
		fmt.Printf("%s: %d rounds of %v, %.0f tasks due in each, %d workers\n", p.Name, s.Rounds, s.Phases.Window, tasks, p.Workloads[0].Workers)
	}
	fmt.Println("at most", s.Duration())
	// Output:
	// batch=1: 6 rounds of 10s, 20000 tasks due in each, 16 workers
	// batch=16: 6 rounds of 10s, 20000 tasks due in each, 16 workers
	// at most 3m0s
}

// Load reports all problems of a file together.
func ExampleLoad_mistakes() {
	_, err := load(`
scenario "mistakes" {
  topology "single" { durabilty = "sync" }
  workload "main" { driver = "stream"  producers = 8  workers = 16 }
  phases { window = 10 }
}
`)
	fmt.Println(err)
	// Output:
	// Error: unknown attribute "durabilty" in topology "single"
	//
	//   on example.hcl line 2, in scenario "mistakes":
	//    2:   topology "single" { durabilty = "sync" }
	//
	// did you mean "durability"?
	//
	// Error: window is 10, which is not a duration
	//
	//   on example.hcl line 4, in scenario "mistakes":
	//    4:   phases { window = 10 }
	//
	// a duration is a string with a unit: write "10s"
	//
	// 2 errors in 1 file
}
