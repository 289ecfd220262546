package ledger

import (
	"fmt"
	"maps"
	"slices"
)

// HeadersBack counts a delivery of a task with headers. If they differ from the headers of the
// enqueue, they count as wrong.
func (l *Ledger) HeadersBack(id Identity, want, got map[string]string) {
	l.faults.labelled.Add(1)
	if maps.Equal(want, got) {
		return
	}
	text := fmt.Sprintf("%d headers instead of %d", len(got), len(want))
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if value, has := got[key]; !has || value != want[key] {
			text = fmt.Sprintf("the header %q was enqueued as %q and delivered as %q", key, want[key], value)
			break
		}
	}
	l.faults.add(&l.faults.mislabelled, 1, fmt.Sprintf("wrong headers: %s: %s", id, text))
}
