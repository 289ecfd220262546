package k6

import (
	"errors"

	"github.com/grafana/sobek"

	"github.com/pronybench/prony/harness/k6/k6api"
)

// balance implements the script's function: it returns the current balance of the ledger.
func (i *instance) balance() *sobek.Object {
	if i.inInit() {
		i.throw(&callError{call: "balance", code: codeInvalid, cause: errInit})
	}
	if _, err := i.process.theMeter(); err != nil {
		i.throw(failed("balance", err))
	}
	b, totals := i.process.account.Balance(), i.process.account.Totals()
	samples := make([]any, len(b.Samples))
	for n, s := range b.Samples {
		samples[n] = s
	}
	return i.object(map[string]any{
		"sent":        totals.Sent,
		"outstanding": totals.Outstanding,
		"enqueued":    b.Enqueued,
		"completed":   b.Completed,
		"lost":        b.Lost,
		"duplicated":  b.Duplicated,
		"corrupted":   b.Corrupted,
		"misrouted":   b.Misrouted,
		"unknown":     b.Unknown,
		"inDoubt":     b.InDoubt,
		"samples":     i.vu.Runtime().NewArray(samples...),
	})
}

// instanceEnv names this load host. The default is derived from k6's execution segment.
const instanceEnv = "PRONY_INSTANCE"

// name implements the script's instance(): a name of this load host that no other one has.
func (i *instance) name() string {
	if name := i.process.env(instanceEnv, ""); name != "" {
		return name
	}
	if i.inInit() {
		i.throw(&callError{
			call: "instance", code: codeInvalid,
			cause: errors.New("k6 does not provide its execution segment in the init context: call it in setup or in a VU's function, or set " + instanceEnv),
		})
	}
	return segmentName(i.vu.State())
}

// segmentName returns a name for this process's segment of the load, or "i0" without segments. It
// is valid in a queue's name.
func segmentName(state *k6api.State) string {
	segment := state.Options.ExecutionSegment
	if segment == nil {
		return "i0"
	}
	return "i" + segment.String()
}
