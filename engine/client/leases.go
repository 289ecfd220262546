package client

import (
	"sync"
	"time"

	"github.com/pronybench/prony/engine/queuepb"
)

// leaseSet is the set of leases that occupy a worker's slots. It stores the link of each lease,
// over which the task was delivered. The set uses open addressing with linear probing, because each
// task needs two look-ups. A task whose first lease expired and that was leased again is in the set
// twice, with different tokens. Two tasks of different shards may have the same token.
type leaseSet struct {
	mu      sync.Mutex
	entries []lease // the length is a power of two; at most half of the entries are used
	count   int
}

type lease struct {
	id        string
	token     uint64
	used      bool
	cancelled bool // the server has reported that the task was cancelled
	from      *workLink
	until     time.Duration // end of the lease, by the session's clock; 0 if unknown
	task      *queuepb.Task // the task, if its cancellation must be reported
}

func (l *lease) over(now time.Duration) bool { return l.used && l.until != 0 && l.until <= now }

const heldMin = 64

// slot returns the start index of the search for a lease.
func (h *leaseSet) slot(id string, token uint64) int {
	x := token
	for i := max(0, len(id)-8); i < len(id); i++ { // consecutive ids differ in the last bytes
		x = x<<8 ^ x>>56 ^ uint64(id[i])
	}
	x *= 0x9e3779b97f4a7c15
	return int(x >> 33 & uint64(len(h.entries)-1))
}

// put adds a lease. It returns true if the lease is new. The caller must hold mu.
func (h *leaseSet) put(l lease) bool {
	if 2*(h.count+1) > len(h.entries) {
		h.grow()
	}
	l.used = true
	return h.insert(l)
}

func (h *leaseSet) grow() {
	old := h.entries
	h.entries = make([]lease, max(heldMin, 2*len(old)))
	h.count = 0
	for _, e := range old {
		if e.used {
			h.insert(e)
		}
	}
}

func (h *leaseSet) insert(l lease) bool {
	i := h.slot(l.id, l.token)
	for ; h.entries[i].used; i = (i + 1) & (len(h.entries) - 1) {
		if h.entries[i].token == l.token && h.entries[i].id == l.id {
			return false
		}
	}
	h.entries[i] = l
	h.count++
	return true
}

func (h *leaseSet) find(id string, token uint64) int {
	if h.count == 0 {
		return -1
	}
	mask := len(h.entries) - 1
	i := h.slot(id, token)
	for h.entries[i].token != token || h.entries[i].id != id || !h.entries[i].used {
		if !h.entries[i].used {
			return -1
		}
		i = (i + 1) & mask
	}
	return i
}

// origin returns the link of a lease, or nil if the lease is not in the set. The
// caller must hold mu.
func (h *leaseSet) origin(id string, token uint64) *workLink {
	if i := h.find(id, token); i >= 0 {
		return h.entries[i].from
	}
	return nil
}

// remove removes a lease. It returns the lease's link, and whether the lease was in the set. The
// caller must hold mu.
func (h *leaseSet) remove(id string, token uint64) (from *workLink, was bool) {
	i := h.find(id, token)
	if i < 0 {
		return nil, false
	}
	from = h.entries[i].from
	mask := len(h.entries) - 1
	h.count--
	// Move back the entries that the removed entry had displaced, so that searches still find them.
	for j := (i + 1) & mask; h.entries[j].used; j = (j + 1) & mask {
		home := h.slot(h.entries[j].id, h.entries[j].token)
		if (j-home)&mask >= (j-i)&mask {
			h.entries[i] = h.entries[j]
			i = j
		}
	}
	h.entries[i] = lease{}
	return from, true
}
