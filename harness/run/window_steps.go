package run

import "github.com/pronybench/prony/harness/result"

// storageSteps contains the steps of a cycle, in the order of the pages.
var storageSteps = []string{result.StepEnqueue, result.StepClaim, result.StepSettle, result.StepCommit, result.StepOther}

// stepCounters is the prefix of the names of the counters that the servers export for each step.
const stepCounters = "prony_storage_step_"

// storageSteps adds the store operations of each step, if the counters of all servers cover the
// whole window. cycles is the number of cycles completed in the period that the counters cover.
func (c *counters) storageSteps(m *measured, cycles float64) {
	if _, counted := c.total(stepCounter("sets_total", result.StepCommit)); !counted {
		return // an older build
	}
	of := &result.StorageSteps{Cycles: cycles}
	for _, step := range storageSteps {
		s := result.StorageStep{Name: step}
		for counter, into := range map[string]*float64{
			"gets_total": &s.Gets, "scanned_keys_total": &s.ScannedKeys, "sets_total": &s.Sets, "set_bytes_total": &s.SetBytes,
			"deletes_total": &s.Deletes, "encodes_total": &s.Encodes, "encoded_bytes_total": &s.EncodedBytes, "decodes_total": &s.Decodes,
		} {
			*into, _ = c.total(stepCounter(counter, step))
		}
		of.Steps = append(of.Steps, s)
	}
	m.round.StorageSteps = of
}

func stepCounter(counter, step string) string {
	return stepCounters + counter + `{step="` + step + `"}`
}
