package client

import (
	"sync"

	"github.com/pronybench/prony/engine/queuepb"
)

// held is the set of leases that occupy a worker's slots: open addressing with linear probing, since it is asked
// twice for each task. A task that is leased twice, because its first lease expired, is in it twice, with two
// tokens; two tasks of different shards may have the same token.
type held struct {
	mu      sync.Mutex
	entries []lease // a power of two of them, at most half of them used
	count   int
}

type lease struct {
	id    string
	token uint64
	used  bool
}

const heldMin = 64

// slot returns where the search for a lease starts.
func (h *held) slot(id string, token uint64) int {
	x := token
	for i := max(0, len(id)-8); i < len(id); i++ { // the end of an id tells neighbours apart
		x = x<<8 ^ x>>56 ^ uint64(id[i])
	}
	x *= 0x9e3779b97f4a7c15
	return int(x >> 33 & uint64(len(h.entries)-1))
}

// add adds the leases of tasks.
func (h *held) add(tasks []*queuepb.Task) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range tasks {
		if 2*(h.count+1) > len(h.entries) {
			h.grow()
		}
		h.insert(t.GetId(), t.GetToken())
	}
}

func (h *held) grow() {
	old := h.entries
	h.entries = make([]lease, max(heldMin, 2*len(old)))
	h.count = 0
	for _, e := range old {
		if e.used {
			h.insert(e.id, e.token)
		}
	}
}

func (h *held) insert(id string, token uint64) {
	i := h.slot(id, token)
	for ; h.entries[i].used; i = (i + 1) & (len(h.entries) - 1) {
		if h.entries[i].token == token && h.entries[i].id == id {
			return
		}
	}
	h.entries[i] = lease{id, token, true}
	h.count++
}

// remove removes a lease, and reports whether it was in. The caller holds mu.
func (h *held) remove(id string, token uint64) bool {
	if h.count == 0 {
		return false
	}
	mask := len(h.entries) - 1
	i := h.slot(id, token)
	for h.entries[i].token != token || h.entries[i].id != id || !h.entries[i].used {
		if !h.entries[i].used {
			return false
		}
		i = (i + 1) & mask
	}
	h.count--
	// Move up what was pushed down by the one that is gone, so that no search stops short of it.
	for j := (i + 1) & mask; h.entries[j].used; j = (j + 1) & mask {
		home := h.slot(h.entries[j].id, h.entries[j].token)
		if (j-home)&mask >= (j-i)&mask {
			h.entries[i] = h.entries[j]
			i = j
		}
	}
	h.entries[i] = lease{}
	return true
}
