package replica

import (
	"sync/atomic"
	"time"
)

type counters struct {
	entries, bytes, proposed, tenures, snapshots, installed atomic.Uint64

	onCommit atomic.Pointer[func(whole, applying time.Duration)]
}

// commit reports a commit to the function set by OnCommit, if any.
func (c *counters) commit(whole, applying time.Duration) {
	if f := c.onCommit.Load(); f != nil {
		(*f)(whole, applying)
	}
}

// Counters are the numbers of events of a replica since it was opened.
type Counters struct {
	Entries    uint64 // entries applied
	EntryBytes uint64 // size of the applied entries in bytes
	Proposed   uint64
	Tenures    uint64 // how often this node became the leader
	Snapshots  uint64 // snapshots taken
	Installed  uint64 // snapshots received from a leader
}

// Counters returns the current values of the counters.
func (r *raftGroup) Counters() Counters {
	c := &r.count
	return Counters{
		Entries: c.entries.Load(), EntryBytes: c.bytes.Load(), Proposed: c.proposed.Load(), Tenures: c.tenures.Load(),
		Snapshots: c.snapshots.Load(), Installed: c.installed.Load(),
	}
}

// OnCommit sets a function that is called after each commit of this leader. whole is the time from
// the proposal until the entry was applied. applying is the part of that time that the store spent
// on this entry and the other entries of the same call of ApplyBatch. Calls within one tenure are
// not concurrent.
func (r *raftGroup) OnCommit(f func(whole, applying time.Duration)) { r.count.onCommit.Store(&f) }
