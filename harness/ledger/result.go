package ledger

import (
	"bytes"
	"fmt"
)

// ResultBack counts a result that was read back for a completed task. If it differs from the result
// of the completion, it counts as wrong.
func (l *Ledger) ResultBack(id Identity, want, got []byte) {
	if bytes.Equal(want, got) {
		l.faults.results.Add(1)
		return
	}
	l.WrongResult(id, fmt.Sprintf("read back %d bytes, expected %d; the first difference is at byte %d", len(got), len(want), differ(want, got)))
}

// WrongResult counts a wrong answer to the read of a result. It stores the reason unless
// samplesPerKind reasons are already stored.
func (l *Ledger) WrongResult(id Identity, why string) {
	l.faults.results.Add(1)
	l.faults.add(&l.faults.misresult, 1, fmt.Sprintf("wrong result: %s: %s", id, why))
}

func differ(a, b []byte) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}
