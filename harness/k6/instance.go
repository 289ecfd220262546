package k6

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/pronybench/prony/harness/k6run"
	"github.com/pronybench/prony/harness/load"
	"github.com/pronybench/prony/harness/result"
)

// writeInstance writes the measurements of this process to a file, for `prony k6 fold`. It fails
// without a load, because then the processes have no common window.
func writeInstance(path string, i k6run.Instance, o *load.Outcome, balance result.Ledger) error {
	if i.Phases.Window == 0 {
		return fmt.Errorf("%s is set, but the script has no load: call load(), or unset it", k6run.OutcomeEnv)
	}
	outcome, err := k6run.Encode(o, balance)
	if err != nil {
		return err
	}
	i.Outcome = *outcome
	text, err := json.Marshal(i)
	if err != nil {
		return fmt.Errorf("write the outcome: %w", err)
	}
	if err := os.WriteFile(path, append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("write the outcome to the file in %s: %w", k6run.OutcomeEnv, err)
	}
	return nil
}
