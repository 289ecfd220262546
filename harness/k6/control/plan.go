// Package control is the extension's side of the socket over which it talks to the harness, when
// that has started the k6 process. The messages, and the environment that the process gets, are
// those of harness/k6run.
package control

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/pronybench/prony/harness/k6run"
	"github.com/pronybench/prony/harness/ledger"
)

// ReadPlan returns the plan in the environment, which lookup reads; nil without a plan, if a person
// runs the script with k6.
func ReadPlan(lookup func(name string) (value string, set bool)) (*k6run.Plan, error) {
	text, set := lookup(k6run.PlanEnv)
	if !set || text == "" {
		return nil, nil
	}
	plan, err := readPlan(text)
	if err != nil {
		return nil, fmt.Errorf("prony: the plan in %s: %w; have `prony run` start k6, or unset it", k6run.PlanEnv, err)
	}
	return plan, nil
}

func readPlan(text string) (*k6run.Plan, error) {
	if len(text) > k6run.MessageBytesMax {
		return nil, fmt.Errorf("%d bytes are more than the %d that it may have", len(text), k6run.MessageBytesMax)
	}
	// The version is looked at first: a plan of another one may have other fields.
	var version struct{ Version int }
	if err := json.Unmarshal([]byte(text), &version); err != nil {
		return nil, fmt.Errorf("it is not JSON as expected: %w", err)
	}
	if err := checkVersion(version.Version); err != nil {
		return nil, err
	}
	plan := &k6run.Plan{}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(plan); err != nil {
		return nil, fmt.Errorf("it is not JSON as expected: %w", err)
	}
	if err := checkPlan(plan); err != nil {
		return nil, err
	}
	return plan, nil
}

// checkVersion refuses what another build of the harness says.
func checkVersion(version int) error {
	if version == k6run.Version {
		return nil
	}
	return fmt.Errorf("it has version %d and this k6 knows %d: build prony and k6 from the same commit", version, k6run.Version)
}

// checkPlan refuses what no script can do. How arrivals and phases go together is for load.NewMeter
// to say.
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
			errs = append(errs, fmt.Errorf("workload.%s is %d; it must be at least %d", f.name, f.value, f.least))
		}
	}
	if p.Phases.Window <= 0 {
		errs = append(errs, fmt.Errorf("phases.window is %v; it must be positive", p.Phases.Window))
	}
	return errors.Join(errs...)
}
