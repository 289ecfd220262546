package queue

import "iter"

// groupTable contains the groups of a queue by their hashes, which are distributed uniformly. A
// task of a group costs several operations of the table, and each of them less than one of a map.
// Collisions are resolved by linear probing; at most half of the slots are used.
type groupTable struct {
	slots []groupSlot // a power of two, or none
	n     int
}

type groupSlot struct {
	hash  uint64 // 0 means that the slot is free
	group *group
}

const groupSlotsMin = 64

// firstSlot uses the high bits of a hash, since the low bits determine the shard of a group.
func firstSlot(hash uint64, mask int) int { return int(hash>>32) & mask }

// find returns the slot of a hash, or the free slot for it.
func (t *groupTable) find(hash uint64) int {
	mask := len(t.slots) - 1
	for i := firstSlot(hash, mask); ; i = (i + 1) & mask {
		if h := t.slots[i].hash; h == hash || h == 0 {
			return i
		}
	}
}

// get returns the group with a hash, or nil.
func (t *groupTable) get(hash uint64) *group {
	if t.n == 0 {
		return nil
	}
	return t.slots[t.find(hash)].group
}

// add adds a group that is not in the table.
func (t *groupTable) add(g *group) {
	if 2*(t.n+1) > len(t.slots) {
		t.resize(max(groupSlotsMin, 2*len(t.slots)))
	}
	t.slots[t.find(g.hash)] = groupSlot{g.hash, g}
	t.n++
}

// remove removes a group. It moves those behind it that were not in their first slot, so that no
// search ends before them.
func (t *groupTable) remove(g *group) {
	mask := len(t.slots) - 1
	free := t.find(g.hash)
	for i := (free + 1) & mask; t.slots[i].hash != 0; i = (i + 1) & mask {
		if (i-firstSlot(t.slots[i].hash, mask))&mask >= (i-free)&mask {
			t.slots[free] = t.slots[i]
			free = i
		}
	}
	t.slots[free] = groupSlot{}
	if t.n--; len(t.slots) > groupSlotsMin && 16*t.n < len(t.slots) {
		t.resize(len(t.slots) / 4)
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
func (t *groupTable) all() iter.Seq[*group] {
	slots := append([]groupSlot(nil), t.slots...)
	return func(yield func(*group) bool) {
		for _, s := range slots {
			if s.hash != 0 && !yield(s.group) {
				return
			}
		}
	}
}
