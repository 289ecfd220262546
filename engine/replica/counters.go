package replica

import (
	"sync/atomic"
	"time"
)

// counters count what a replica does.
type counters struct {
	entries, bytes, proposed, tenures, snapshots, installed atomic.Uint64

	onCommit atomic.Pointer[func(whole, applying time.Duration)]
}

// commit reports how long a proposal took until it was applied, and how long of that the store took to apply it.
func (c *counters) commit(whole, applying time.Duration) {
	if f := c.onCommit.Load(); f != nil {
		(*f)(whole, applying)
	}
}

// Counters are what a replica did since it was opened.
type Counters struct {
	Entries    uint64 // applied
	EntryBytes uint64 // of these
	Proposed   uint64
	Tenures    uint64 // how often this node became the leader
	Snapshots  uint64 // taken
	Installed  uint64 // received from a leader
}

// Counters returns what the replica did.
func (r *Replica) Counters() Counters {
	c := &r.count
	return Counters{
		Entries: c.entries.Load(), EntryBytes: c.bytes.Load(), Proposed: c.proposed.Load(), Tenures: c.tenures.Load(),
		Snapshots: c.snapshots.Load(), Installed: c.installed.Load(),
	}
}

// OnCommit sets a function that is called after each commit of this leader. whole is the time from the proposal until the entry
// was applied. applying is the part of whole in which the store applied this entry and the entries in the same call. One
// goroutine at a time calls the function.
func (r *Replica) OnCommit(f func(whole, applying time.Duration)) { r.count.onCommit.Store(&f) }
