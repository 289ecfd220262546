package ledger

import (
	"fmt"
	"time"
)

// Extended says that the extension of a lease was acknowledged, which is valid as the lease says from now on.
func (l *Ledger) Extended(id Identity, lease Lease, now time.Time) {
	l.faults.extended.Add(1)
	if l.WatchesLeases() {
		l.Leased(id, lease, now)
	}
}

// ExtensionRefused says that the extension of a lease was refused because the lease was over or its task gone, and that this was known at a
// time. It counts as unextended if the lease was valid.
func (l *Ledger) ExtensionRefused(id Identity, lease Lease, now time.Time) {
	if lease.valid(now) {
		l.faults.add(&l.faults.unextended, 1, fmt.Sprintf("unextended: %s: an extension was refused although the lease with token %d was valid for %v more",
			id, lease.Token, lease.Until.Sub(now).Round(time.Millisecond)))
	}
}
