package k6

import "github.com/grafana/sobek"

// balance implements the script's function: it returns the current balance of the ledger.
func (i *instance) balance() *sobek.Object {
	if i.inInit() {
		i.throw(mistake("balance", errInit))
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
