package client

import (
	"sync"
	"time"
)

// leaseSet is the set of leases that occupy a worker's slots, with their links. It uses open
// addressing with linear probing, since each task needs two look-ups. A task that was leased twice,
// because its first lease expired, is in the set with two tokens; two tasks of different shards may
// have the same token.
type leaseSet struct {
	mu      sync.Mutex
	entries []lease // the length is a power of two; at most half is used
	count   int
}

type lease struct {
	id    string
	token uint64
	used  bool
	from  *workLink
	until time.Duration // when the lease expires, by the session's clock; 0 if unknown
}

func (l *lease) over(now time.Duration) bool { return l.used && l.until != 0 && l.until <= now }

const heldMin = 64

// slot returns the index at which the search for a lease starts.
func (h *leaseSet) slot(id string, token uint64) int {
	x := token
	for i := max(0, len(id)-8); i < len(id); i++ { // consecutive ids differ at the end
		x = x<<8 ^ x>>56 ^ uint64(id[i])
	}
	x *= 0x9e3779b97f4a7c15
	return int(x >> 33 & uint64(len(h.entries)-1))
}

// put adds a lease from a link, and reports whether it is new. The caller must hold mu.
func (h *leaseSet) put(id string, token uint64, from *workLink, until time.Duration) bool {
	if 2*(h.count+1) > len(h.entries) {
		h.grow()
	}
	return h.insert(lease{id, token, true, from, until})
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

// find returns the index of a lease, or -1.
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

// origin returns the link of a lease, or nil if the lease is absent. The caller must hold mu.
func (h *leaseSet) origin(id string, token uint64) *workLink {
	if i := h.find(id, token); i >= 0 {
		return h.entries[i].from
	}
	return nil
}

// remove removes a lease, and returns its link and whether it was present. The caller must hold mu.
func (h *leaseSet) remove(id string, token uint64) (from *workLink, was bool) {
	i := h.find(id, token)
	if i < 0 {
		return nil, false
	}
	from = h.entries[i].from
	mask := len(h.entries) - 1
	h.count--
	// Move up the entries that the removed one had displaced, so that searches still find them.
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
