package storage

import (
	"encoding/binary"
	"hash/maphash"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/batchrepr"
	"github.com/greatroar/blobloom"

	"github.com/pronybench/prony/engine/memory"
	"github.com/pronybench/prony/engine/storage/record"
)

// DefaultKeyFilterBytes is the bound of a store's own KeyFilters. It suffices for about 35 million idempotency keys.
const DefaultKeyFilterBytes = 64 << 20

const (
	// sectionKeysMin is the capacity of the smallest section of a filter, 28 KiB. A store's first section may exceed the bound.
	sectionKeysMin = 1 << 14
	// sectionKeysMax bounds a section to 7 MiB: whoever adds a key waits while a new section is cleared.
	sectionKeysMax = 1 << 22
	// sectionsMin is how many sections of the largest size the bound has room for. Even if the bound is reached, memory is then freed
	// in parts as keys expire.
	sectionsMin = 4
	// falseRate is how often a section that is filled to its capacity claims to have a key that it does not have.
	falseRate = 0.003
	// askAgainKeys is how many keys a full section takes until it asks again whether the bound has room for the next section.
	askAgainKeys = 1 << 10
	// keyKeyStack is more than the store's key of an idempotency key takes.
	keyKeyStack = 160
	// growth is for how many times the keys of the filter the next section has room. Each section costs a look-up a miss of the
	// processor's caches.
	growth = 3
)

// KeyFilters bounds the memory of the filters of idempotency keys of one or several stores.
type KeyFilters struct {
	budget  *memory.Budget
	keysMax uint64 // of one section
}

// NewKeyFilters returns a bound in bytes. If it has no room for a filter, stores have none, and read the store for each key.
func NewKeyFilters(bytes int64) *KeyFilters {
	perSection := float64(bytes) / sectionsMin
	keys := perSection / float64(sectionBytes(sectionKeysMax)) * sectionKeysMax
	return &KeyFilters{memory.NewBudget(bytes), min(uint64(max(0, keys)), sectionKeysMax)}
}

// keyFilter knows of most idempotency keys that are not in the store that they are not there, so that the store need not be read. It
// never hides a key. For other keys the store is read.
//
// Keys that the store had at its opening are in its opened tables. Keys that are put later are in a list of sections. A section is a blocked Bloom
// filter that takes keys until it is full. It goes when the last of the buckets is dropped that it has keys of. A nil filter knows nothing.
type keyFilter struct {
	bound    *KeyFilters
	seed     maphash.Seed
	opened   atomic.Pointer[openedTables]
	sections atomic.Pointer[[]*section]

	mu   sync.Mutex
	put  *section // takes keys as they are put or applied
	keys uint64   // in all sections
}

// section has its fields but bits guarded by keyFilter.mu.
type section struct {
	bits  *blobloom.SyncFilter
	bytes int64
	keys  uint64
	full  uint64 // with so many keys the filter asks for the next section
	last  int64  // the last bucket that the section has a key of
}

// openKeyFilter makes the filter of a store that was just opened: no key has been written since. Under a nil bound the filter has a bound of
// DefaultKeyFilterBytes. After an error the filter can be used, and the store is read for each key that the unread tables may have.
func (s *Store) openKeyFilter(bound *KeyFilters) error {
	if bound == nil {
		bound = NewKeyFilters(DefaultKeyFilterBytes)
	}
	if s.filter = newKeyFilter(bound); s.filter == nil {
		return nil
	}
	buckets, err := s.buckets(record.PrefixKey)
	if err != nil {
		s.filter.opened.Store(anyKey(math.MaxInt64))
		return err
	}
	if len(buckets) == 0 {
		return nil
	}
	opened, err := readOpenedTables(s.db, s.files, s.dir, buckets[len(buckets)-1], bound.budget)
	s.filter.opened.Store(opened)
	return err
}

// newKeyFilter returns an empty filter, or nil if the bound has no room for one.
func newKeyFilter(bound *KeyFilters) *keyFilter {
	if bound.keysMax < sectionKeysMin {
		return nil
	}
	f := &keyFilter{bound: bound, seed: maphash.MakeSeed()}
	f.sections.Store(&[]*section{})
	return f
}

// sectionBits returns the size of a section, and its number of hashes.
func sectionBits(keys uint64) (bits uint64, hashes int) {
	return blobloom.Optimize(blobloom.Config{Capacity: keys, FPRate: falseRate})
}

func sectionBytes(keys uint64) int64 {
	bits, _ := sectionBits(keys)
	return int64(bits / 8)
}

// absent reports that none of the buckets of the store has a key, and that none was put. record.AppendKeyName makes names.
func (f *keyFilter) absent(name []byte, buckets []int64) bool {
	if f == nil {
		return false
	}
	hash := maphash.Bytes(f.seed, name)
	for _, s := range *f.sections.Load() {
		if s.bits.Has(hash) {
			return false
		}
	}
	if t := f.opened.Load(); t != nil {
		var stack [keyKeyStack]byte
		for _, bucket := range buckets {
			if bucket <= t.last && t.mayHave(record.AppendKeyKey(stack[:0], bucket, name)) {
				return false
			}
		}
	}
	return true
}

// add adds a key of a bucket, before reads of the store see it.
func (f *keyFilter) add(name []byte, bucket int64) {
	if f == nil {
		return
	}
	hash := maphash.Bytes(f.seed, name)
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.put; s == nil || s.keys >= s.full {
		if next := f.growLocked(s == nil); next != nil {
			f.put = next
		} else { // beyond its capacity a section has more false hits
			s.full = s.keys + askAgainKeys
		}
	}
	s := f.put
	s.last = max(s.last, bucket)
	if s.bits.Has(hash) {
		return
	}
	s.bits.Add(hash)
	s.keys++
	f.keys++
}

// growLocked returns a new section. If the bound has no room, it returns nil, or the smallest section if there must be one. Sections
// grow with the keys of the filter, so that they are few.
func (f *keyFilter) growLocked(must bool) *section {
	keys := max(min(growth*f.keys, f.bound.keysMax), sectionKeysMin)
	for !f.bound.budget.Take(sectionBytes(keys)) {
		if keys > sectionKeysMin {
			keys = max(keys/2, sectionKeysMin)
			continue
		}
		if !must {
			return nil
		}
		f.bound.budget.Force(sectionBytes(keys))
		break
	}
	s := &section{bits: blobloom.NewSync(sectionBits(keys)), bytes: sectionBytes(keys), full: keys}
	with := append(slices.Clone(*f.sections.Load()), s)
	f.sections.Store(&with)
	return s
}

// drop forgets the keys of all buckets up to one, which reads of the store do not see any more.
func (f *keyFilter) drop(bucket int64) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	kept := slices.DeleteFunc(slices.Clone(*f.sections.Load()), func(s *section) bool {
		if s.last > bucket {
			return false
		}
		f.bound.budget.Give(s.bytes)
		f.keys -= s.keys
		if s == f.put {
			f.put = nil
		}
		return true
	})
	f.sections.Store(&kept)
	f.opened.Store(f.opened.Load().without(bucket, f.bound.budget))
}

// size returns the memory of the filter, and how many keys its sections have.
func (f *keyFilter) size() (bytes, keys uint64) {
	if f == nil {
		return 0, 0
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range *f.sections.Load() {
		bytes += uint64(s.bytes)
	}
	if t := f.opened.Load(); t != nil {
		bytes += uint64(t.bytes)
	}
	return bytes, f.keys
}

// close gives the memory back.
func (f *keyFilter) close() { f.drop(math.MaxInt64) }

// added adds the keys of a batch that is about to be applied. It returns the last of the buckets that this batch and those before it
// drop, as far as no key was put there again, or 0.
func (f *keyFilter) added(batch []byte, dropped int64) (int64, error) {
	for r := batchrepr.Read(batch); ; {
		kind, key, end, ok, err := r.Next()
		if err != nil || !ok {
			return dropped, err
		}
		if len(key) == 0 || key[0] != record.PrefixKey {
			continue
		}
		switch kind {
		case pebble.InternalKeyKindSet:
			bucket, name, err := record.ParseKeyKey(key)
			if err != nil {
				return 0, err
			}
			f.add(name, bucket)
			if bucket <= dropped {
				dropped = 0
			}
		case pebble.InternalKeyKindRangeDelete:
			// The end follows the prefix of the last bucket. It lacks the zeros that it would end with.
			var at [1 + 8]byte
			copy(at[:], end)
			if at[0] == record.PrefixKey {
				dropped = max(dropped, int64(binary.BigEndian.Uint64(at[1:])-1))
			}
		}
	}
}
