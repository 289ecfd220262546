package gate_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/pronybench/prony/harness/gate"
	"github.com/pronybench/prony/harness/result"
)

func ExampleCheck() {
	dir, err := os.MkdirTemp("", "baselines")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	limits := `
baseline "smoke" {
  floor "cycles_per_s" { min = 20000  because = "a tenth of what shared cores do" }
}`
	if err := os.WriteFile(filepath.Join(dir, "smoke.hcl"), []byte(limits), 0o600); err != nil {
		panic(err)
	}
	baselines, err := gate.LoadBaselines(dir)
	if err != nil {
		panic(err)
	}
	report := gate.Check(baselines, &result.Result{
		Version: result.Version, Scenario: "smoke", Verdict: result.Pass,
		Metrics: map[string]result.Metric{
			result.CyclesPerS: {Median: 5912, Low: 5800, High: 6001, N: 7, Unit: "1/s"},
			result.Lost:       {N: 7, Unit: "tasks"},
			result.Duplicated: {N: 7, Unit: "tasks"},
			result.Corrupted:  {N: 7, Unit: "tasks"},
		},
	})
	fmt.Println(report.Verdict, report.Verdict.ExitCode())
	for _, finding := range report.Findings {
		fmt.Println(finding.OK, finding.Sentence)
	}
	// Output:
	// regressed 1
	// false cycles_per_s 5,912 is below the floor 20,000: a tenth of what shared cores do
	// true lost 0 is not above the ceiling 0
	// true duplicated 0 is not above the ceiling 0
	// true corrupted 0 is not above the ceiling 0
}

// Three comparisons: a change that is 10 % slower, an identical build, and an identical build on a
// very noisy host.
func ExampleCompare() {
	policy := gate.DefaultPolicy()
	for _, c := range []struct {
		loss, noise float64
	}{{0.10, 0.01}, {0, 0.01}, {0, 0.10}} {
		random := rand.New(rand.NewPCG(1, 2))
		all := exampleArms(random, c.loss, c.noise)
		compared := gate.Compare(all[0], all[1], &all[2], true, policy)
		rate := compared.Metrics[0]
		fmt.Printf("%s: %s is %s\n", compared.Verdict, rate.Metric, rate.Outcome)
	}
	// Output:
	// regressed: cycles_per_s is regressed
	// pass: cycles_per_s is same
	// inconclusive: cycles_per_s is inconclusive
}

// exampleArms simulates 20 blocks of a base, a change with the given loss of rate, and a control.
func exampleArms(random *rand.Rand, loss, spread float64) []result.Arm {
	return arms(failing{}, random, 20, noise{round: spread, swing: 0.02}, map[string]float64{"change": loss}, "base", "change", "control")
}

// failing panics if an example's input cannot be built.
type failing struct{}

func (failing) Errorf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
func (failing) FailNow()                          { panic("the example's input cannot be made") }
