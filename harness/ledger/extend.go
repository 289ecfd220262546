package ledger

import (
	"fmt"
	"time"
)

// Extended records that the extension of a lease was acknowledged. lease is the lease after the
// extension.
func (l *Ledger) Extended(id Identity, lease Lease, now time.Time) {
	l.faults.extended.Add(1)
	if l.WatchesLeases() {
		l.Leased(id, lease, now)
	}
}

// ExtensionRefused records that the extension of a lease was refused because the lease had expired
// or its task no longer exists. now is the time when the caller learned of the refusal. If the
// lease was still valid, the refusal counts as unextended.
func (l *Ledger) ExtensionRefused(id Identity, lease Lease, now time.Time) {
	if lease.valid(now) {
		l.faults.add(&l.faults.unextended, 1, fmt.Sprintf("unextended: %s: an extension was refused although the lease with token %d was valid for another %v",
			id, lease.Token, lease.Until.Sub(now).Round(time.Millisecond)))
	}
}
