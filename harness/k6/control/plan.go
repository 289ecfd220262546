// Package control is the extension's side of the connection to the harness, if the harness started
// the k6 process. Package k6run defines the messages and the environment of the process.
package control

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/pronybench/prony/harness/k6run"
	"github.com/pronybench/prony/harness/ledger"
)

// ReadPlan returns the plan in the environment, which lookup reads. It returns nil without a plan:
// a user then runs the script with k6.
func ReadPlan(lookup func(name string) (value string, set bool)) (*k6run.Plan, error) {
	text, set := lookup(k6run.PlanEnv)
	if !set || text == "" {
		return nil, nil
	}
	plan, err := readPlan(text)
	if err != nil {
		return nil, fmt.Errorf("prony: the plan in %s: %w; start k6 with `prony run`, or unset it", k6run.PlanEnv, err)
	}
	return plan, nil
}

func readPlan(text string) (*k6run.Plan, error) {
	if len(text) > k6run.MessageBytesMax {
		return nil, fmt.Errorf("it has %d bytes, more than the maximum of %d", len(text), k6run.MessageBytesMax)
	}
	// Check the version first: a plan of another version may have other fields.
	var version struct{ Version int }
	if err := json.Unmarshal([]byte(text), &version); err != nil {
		return nil, fmt.Errorf("it is not valid JSON: %w", err)
	}
	if err := checkVersion(version.Version); err != nil {
		return nil, err
	}
	plan := &k6run.Plan{}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(plan); err != nil {
		return nil, fmt.Errorf("it is not a valid plan: %w", err)
	}
	if err := checkPlan(plan); err != nil {
		return nil, err
	}
	return plan, nil
}

// checkVersion rejects the plan of an incompatible build of the harness.
func checkVersion(version int) error {
	if version == k6run.Version {
		return nil
	}
	return fmt.Errorf("it has version %d, but this k6 supports %d: build prony and k6 from the same commit", version, k6run.Version)
}

// checkPlan rejects a plan that no script can follow. load.NewMeter checks the combination of
// arrivals and phases.
func checkPlan(p *k6run.Plan) error {
	w := p.Workload
	var errs []error
	for _, f := range []struct {
		name         string
		value, least int
	}{
		{"tenants", w.Tenants, 1},
		{"queues", w.Queues, 1},
		{"producers", w.Producers, 1},
		{"workers", w.Workers, 1},
		{"batch", w.Batch, 1},
		{"payload", w.Payload.Max, ledger.HeaderSize},
	} {
		if f.value < f.least {
			errs = append(errs, fmt.Errorf("workload.%s is %d, expected at least %d", f.name, f.value, f.least))
		}
	}
	if p.Phases.Window <= 0 {
		errs = append(errs, fmt.Errorf("phases.window is %v, expected a positive duration", p.Phases.Window))
	}
	return errors.Join(errs...)
}
