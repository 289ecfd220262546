package ledger

import (
	"bytes"
	"fmt"
)

// ResultBack counts the result of a completed task that was read back, and counts it as wrong if it is not the one of the completion.
func (l *Ledger) ResultBack(id Identity, want, got []byte) {
	if bytes.Equal(want, got) {
		l.faults.results.Add(1)
		return
	}
	l.WrongResult(id, fmt.Sprintf("was answered with another result: %d bytes instead of %d that differ from byte %d on", len(got), len(want), differ(want, got)))
}

// WrongResult counts a result that was read back and answered as it must not be, and keeps why if there is room.
func (l *Ledger) WrongResult(id Identity, why string) {
	l.faults.results.Add(1)
	l.faults.add(&l.faults.misresult, 1, fmt.Sprintf("wrong result: %s: the read of its result %s", id, why))
}

// differ returns the first place where two texts differ.
func differ(a, b []byte) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}
