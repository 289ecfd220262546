package queue

import "iter"

// groupTable contains the groups of a queue by their hashes, which are distributed uniformly. A task of
// a group finds its slot once for its lease, and once for the end of the lease. The number of leases is
// therefore in the slot. Collisions are resolved by linear probing. At most a quarter of the slots are
// used, so that a slot is nearly always the first that is examined; they are small and have no
// pointers, so that this costs little.
type groupTable struct {
	slots []groupSlot // a power of two, or none
	n     int
}

type groupSlot struct {
	hash   uint64 // 0 means that the slot is free
	leased uint32
	state  uint32 // place in limiter.states; 0 if the group has no parked tasks, and a full bucket
}

const groupSlotsMin = 64

// firstSlot uses the high bits of a hash, since the low bits determine the shard of a group.
func firstSlot(hash uint64, mask int) int { return int(hash>>32) & mask }

// find returns the place of a hash, or of the free slot for it.
func (t *groupTable) find(hash uint64) int {
	slots := t.slots
	mask := len(slots) - 1
	for i := firstSlot(hash, mask); ; i = (i + 1) & mask {
		if h := slots[i].hash; h == hash || h == 0 {
			return i
		}
	}
}

// get returns the slot of a group, or nil. It is valid until a group is added or removed.
func (t *groupTable) get(hash uint64) *groupSlot {
	if t.n == 0 {
		return nil
	}
	if s := &t.slots[t.find(hash)]; s.hash != 0 {
		return s
	}
	return nil
}

// claim returns the slot of a group, which it adds if necessary. The slot is valid until another
// group is added or removed.
func (t *groupTable) claim(hash uint64) *groupSlot {
	if 4*t.n >= len(t.slots) {
		t.resize(max(groupSlotsMin, 2*len(t.slots)))
	}
	s := &t.slots[t.find(hash)]
	if s.hash == 0 {
		s.hash = hash
		t.n++
	}
	return s
}

// remove removes a group, which must be in the table. It moves those behind it that were not in their
// first slot, so that no search ends before them.
func (t *groupTable) remove(hash uint64) {
	slots := t.slots
	mask := len(slots) - 1
	free := t.find(hash)
	for i := (free + 1) & mask; slots[i].hash != 0; i = (i + 1) & mask {
		if (i-firstSlot(slots[i].hash, mask))&mask >= (i-free)&mask {
			slots[free] = slots[i]
			free = i
		}
	}
	slots[free] = groupSlot{}
	if t.n--; len(slots) > groupSlotsMin && 32*t.n < len(slots) {
		t.resize(len(slots) / 4)
	}
}

func (t *groupTable) resize(slots int) {
	old := t.slots
	t.slots = make([]groupSlot, max(groupSlotsMin, slots))
	for _, s := range old {
		if s.hash != 0 {
			t.slots[t.find(s.hash)] = s
		}
	}
}

// all returns the groups that are in the table when it is called.
func (t *groupTable) all() iter.Seq[groupSlot] {
	slots := append([]groupSlot(nil), t.slots...)
	return func(yield func(groupSlot) bool) {
		for _, s := range slots {
			if s.hash != 0 && !yield(s) {
				return
			}
		}
	}
}
