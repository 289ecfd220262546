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

// DefaultKeyFilterBytes is the maximum size of a store's filter if Options.KeyFilters is nil. It
// suffices for about 35 million idempotency keys.
const DefaultKeyFilterBytes = 64 << 20

const (
	// sectionKeysMin is the capacity, in keys, of the smallest section of a filter. Such a section
	// occupies 28 KiB.
	sectionKeysMin = 1 << 14
	// sectionKeysMax is the capacity, in keys, of the largest section, which occupies 7 MiB. Larger
	// sections would take too long to allocate, while a goroutine that adds a key waits.
	sectionKeysMax = 1 << 22
	// sectionsMin is the minimum number of sections that fit into the limit of KeyFilters. With
	// several sections, memory is freed in parts as keys expire, even while the limit is reached.
	sectionsMin = 4
	// falseRate is the rate of false positives of a section that is filled to its capacity.
	falseRate = 0.003
	// askAgainKeys is the number of keys that are added to a section without bits before the filter
	// tries again to reserve memory for the next section.
	askAgainKeys = 1 << 10
	// keyKeyStack is larger than the length, in bytes, of the stored key of an idempotency key.
	keyKeyStack = 160
	// growth is the ratio of the next section's capacity to the number of keys in the filter. It
	// keeps the number of sections small, because each section costs a look-up one miss of the
	// processor's caches.
	growth = 3
)

// KeyFilters limits the memory of the idempotency-key filters of one or several stores.
type KeyFilters struct {
	budget  *memory.Budget
	keysMax uint64 // maximum number of keys in one section
}

// NewKeyFilters limits the filters to the given number of bytes. If this is too little for one
// filter, stores have no filter and read their tables for each key.
func NewKeyFilters(bytes int64) *KeyFilters {
	perSection := float64(bytes) / sectionsMin
	keys := perSection / float64(sectionBytes(sectionKeysMax)) * sectionKeysMax
	return &KeyFilters{memory.NewBudget(bytes), min(uint64(max(0, keys)), sectionKeysMax)}
}

// keyFilter finds out, without reading the store, which buckets do not contain an idempotency key.
// Most new keys are in no bucket. It may report that a bucket may contain a key that is not in the
// bucket, but it never misses a key.
//
// For the keys that were in the store when it was opened, the filter uses the Bloom filters of the
// tables (openedTables). Later keys are added to a list of sections. A section is a blocked Bloom
// filter with a limited capacity. While the memory limit is reached, keys are added to a section
// without bits, which reports every key of its buckets as present. A section is removed when the
// last of its buckets is dropped. A nil filter reports every key as possibly present.
type keyFilter struct {
	bound    *KeyFilters
	seed     maphash.Seed
	opened   atomic.Pointer[openedTables]
	sections atomic.Pointer[[]*section]

	mu   sync.Mutex
	put  *section // the section to which new keys are added
	keys uint64   // number of keys in all sections with bits
}

// section contains keys of a range of buckets.
type section struct {
	bits  *blobloom.SyncFilter // nil if the memory limit was reached
	bytes int64
	// first and last are the first and the last bucket of the section's keys. They are changed
	// under keyFilter.mu; readers need no lock.
	first, last atomic.Int64

	// Guarded by keyFilter.mu.
	keys uint64 // number of added keys; with bits, without those that the section already reported
	full uint64 // the number of keys at which the filter allocates the next section
}

// add adds a key of a bucket. It returns false if the section already reported the key.
func (s *section) add(hash uint64, bucket int64) bool {
	// Change the range before the bits, so that a reader that sees the bits does not skip the
	// bucket.
	s.first.Store(min(s.first.Load(), bucket))
	s.last.Store(max(s.last.Load(), bucket))
	if s.bits != nil {
		if s.bits.Has(hash) {
			return false
		}
		s.bits.Add(hash)
	}
	s.keys++
	return true
}

func (s *section) mayHave(hash uint64) bool { return s.bits == nil || s.bits.Has(hash) }

// openKeyFilter creates the filter of a store that was just opened, before any key is written. A
// nil bound means DefaultKeyFilterBytes for this store alone. After an error the filter can be
// used, but it then reports every key of the buckets that existed as possibly present.
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

func newKeyFilter(bound *KeyFilters) *keyFilter {
	if bound.keysMax < sectionKeysMin {
		return nil
	}
	f := &keyFilter{bound: bound, seed: maphash.MakeSeed()}
	f.sections.Store(&[]*section{})
	return f
}

func sectionBits(keys uint64) (bits uint64, hashes int) {
	return blobloom.Optimize(blobloom.Config{Capacity: keys, FPRate: falseRate})
}

func sectionBytes(keys uint64) int64 {
	bits, _ := sectionBits(keys)
	return int64(bits / 8)
}

// candidates appends to into those of the given buckets that may contain a key, in their order.
// name is from record.AppendKeyName.
func (f *keyFilter) candidates(into []int64, name []byte, buckets []int64) []int64 {
	if f == nil {
		return append(into, buckets...)
	}
	var few [4]*section // usually no section reports the key
	hash, having := maphash.Bytes(f.seed, name), few[:0]
	for _, s := range *f.sections.Load() {
		if s.mayHave(hash) {
			having = append(having, s)
		}
	}
	opened := f.opened.Load()
	var stack [keyKeyStack]byte
	for _, bucket := range buckets {
		if slices.ContainsFunc(having, func(s *section) bool { return s.first.Load() <= bucket && bucket <= s.last.Load() }) ||
			opened != nil && bucket <= opened.last && opened.mayHave(record.AppendKeyKey(stack[:0], bucket, name)) {
			into = append(into, bucket)
		}
	}
	return into
}

// add adds a key of a bucket. The caller must call it before reads of the store see the key.
func (f *keyFilter) add(name []byte, bucket int64) {
	if f == nil {
		return
	}
	hash := maphash.Bytes(f.seed, name)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.put == nil || f.put.keys >= f.put.full {
		f.growLocked()
	}
	if f.put.add(hash, bucket) && f.put.bits != nil {
		f.keys++
	}
}

// growLocked creates the section for the next keys. If the memory limit is reached, the section has
// no bits. The filter then tries again after each askAgainKeys keys, because dropped buckets free
// memory. The size of a section grows with the number of keys in the filter, so that there are few
// sections.
func (f *keyFilter) growLocked() {
	keys := max(min(growth*f.keys, f.bound.keysMax), sectionKeysMin)
	for !f.bound.budget.Take(sectionBytes(keys)) {
		if keys > sectionKeysMin {
			keys = max(keys/2, sectionKeysMin)
			continue
		}
		if f.put == nil || f.put.bits != nil {
			f.putLocked(&section{full: askAgainKeys})
		} else {
			f.put.full = f.put.keys + askAgainKeys
		}
		return
	}
	f.putLocked(&section{bits: blobloom.NewSync(sectionBits(keys)), bytes: sectionBytes(keys), full: keys})
}

// putLocked adds a section, which then receives the new keys.
func (f *keyFilter) putLocked(s *section) {
	s.first.Store(math.MaxInt64)
	s.last.Store(math.MinInt64)
	with := append(slices.Clone(*f.sections.Load()), s)
	f.sections.Store(&with)
	f.put = s
}

// drop removes the keys of all buckets up to the given bucket from the filter. The caller must
// already have dropped these buckets from the store.
func (f *keyFilter) drop(bucket int64) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	kept := slices.DeleteFunc(slices.Clone(*f.sections.Load()), func(s *section) bool {
		if s.last.Load() > bucket {
			return false
		}
		f.bound.budget.Give(s.bytes)
		if s.bits != nil {
			f.keys -= s.keys
		}
		if s == f.put {
			f.put = nil
		}
		return true
	})
	f.sections.Store(&kept)
	f.opened.Store(f.opened.Load().without(bucket, f.bound.budget))
}

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

func (f *keyFilter) close() { f.drop(math.MaxInt64) }

// added adds the keys of a batch that is about to be applied. dropped is the result for the
// previous batch of the same Apply, or 0. added returns the last bucket that the batches drop. It
// returns 0 if they drop none, or if a key was put into a dropped bucket again.
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
			// The end of the range is the successor of the last bucket's prefix, without trailing
			// zeros.
			var at [1 + 8]byte
			copy(at[:], end)
			if at[0] == record.PrefixKey {
				dropped = max(dropped, int64(binary.BigEndian.Uint64(at[1:])-1))
			}
		}
	}
}
