package ledger

import (
	"fmt"
	"sync"
	"sync/atomic"
)

// WatchUnique makes the ledger check that no two unfinished tasks hold the same unique key. A task
// certainly holds its key from the acknowledgement of its enqueue, or from its first delivery, until
// its completion or its last failure is requested. Two tasks that hold a key at the same time count
// as doubled.
//
// WatchUnique must be called before the first task is sent. The caller must then call HoldsKey for
// each task with a key, and Completing before it requests the end of a task. The ledger stores one
// entry for each held key.
func (l *Ledger) WatchUnique() {
	l.unique.holders = map[uniqueKey]Identity{}
	for i := range l.accounts {
		l.accounts[i].keys = map[uint64]uniqueKey{}
	}
}

// WatchesUnique reports whether WatchUnique was called.
func (l *Ledger) WatchesUnique() bool { return l.unique.holders != nil }

// uniqueKey is a key of a queue.
type uniqueKey struct {
	route  uint64
	number uint64
}

// unique contains the tasks that certainly hold a key.
type unique struct {
	mu      sync.Mutex // may be locked after an account's mutex, never before
	holders map[uniqueKey]Identity
	taken   atomic.Uint64
}

// KeyTaken records that n enqueues were refused because other tasks held their keys.
func (l *Ledger) KeyTaken(n int) { l.unique.taken.Add(uint64(n)) }

// HoldsKey records that a task was acknowledged or delivered, and that it was enqueued to an address
// under the key with the given number. It must be called after Enqueued or Claimed.
func (l *Ledger) HoldsKey(id Identity, to Address, number uint64) {
	if !l.knows(id) {
		return
	}
	a, key := &l.accounts[id.Producer], uniqueKey{to.hash, number}
	a.mu.Lock()
	// Completing waits for the lock, so it always finds the holder.
	holder, held := a.holdKey(&l.unique, id, key)
	a.mu.Unlock()
	if held {
		l.faults.add(&l.faults.doubled, 1, fmt.Sprintf("doubled: %s and %s, both sent to %s/%s under key %d, were unfinished at the same time",
			holder, id, to.Tenant, to.Queue, number))
	}
}

// holdKey stores that a task holds a key, unless its end was already requested. If another task holds
// the key, holdKey returns that task.
func (a *account) holdKey(u *unique, id Identity, key uniqueKey) (holder Identity, held bool) {
	const ending = refused | completed | completionInDoubt | completionAsked
	at := a.find(id.Sequence)
	if _, known := a.keys[id.Sequence]; known || id.Sequence >= a.sent || at < 0 || a.live[at].tasks[id.Sequence%pageTasks]&ending != 0 {
		return Identity{}, false
	}
	a.keys[id.Sequence] = key
	u.mu.Lock()
	defer u.mu.Unlock()
	holder, held = u.holders[key]
	if !held {
		u.holders[key] = id
	}
	return holder, held
}

// freeKey records that the end of a task was requested. The caller must hold the account's mutex.
func (a *account) freeKey(u *unique, id Identity) {
	key, known := a.keys[id.Sequence]
	if !known {
		return
	}
	delete(a.keys, id.Sequence)
	u.mu.Lock()
	defer u.mu.Unlock()
	if holder := u.holders[key]; holder.Producer == id.Producer && holder.Sequence == id.Sequence {
		delete(u.holders, key)
	}
}
