package storage

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/batchrepr"
	"github.com/greatroar/blobloom"

	"github.com/pronybench/prony/engine/memory"
	"github.com/pronybench/prony/engine/storage/disk"
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
	// growth is for how many times the keys of the filter the next section has room. Each section costs a look-up a miss of the
	// processor's caches.
	growth = 3
	// fillKeys is how many keys of the store are read at a time.
	fillKeys = 1 << 11
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
// never hides a key. For other keys, and until the keys that were in the store at its opening are added, the store is read.
//
// A filter is a list of sections. A section is a blocked Bloom filter that takes keys until it is full. It goes when the last of the
// buckets is dropped that it has keys of. A nil filter knows nothing.
type keyFilter struct {
	bound    *KeyFilters
	seed     maphash.Seed
	ready    atomic.Bool // all keys of the store are added
	sections atomic.Pointer[[]*section]

	mu      sync.Mutex
	put     *section // takes keys as they are put or applied
	opening *section // takes the keys that were in the store at its opening, which expire earlier
	keys    uint64   // in all sections

	stop, done chan struct{} // of fill
}

// section has its fields but bits guarded by keyFilter.mu.
type section struct {
	bits  *blobloom.SyncFilter
	bytes int64
	keys  uint64
	full  uint64 // with so many keys the filter asks for the next section
	last  int64  // the last bucket that the section has a key of
}

// newKeyFilter returns an empty filter, or nil if the bound has no room for one.
func newKeyFilter(bound *KeyFilters) *keyFilter {
	if bound.keysMax < sectionKeysMin {
		return nil
	}
	f := &keyFilter{bound: bound, seed: maphash.MakeSeed(), stop: make(chan struct{}), done: make(chan struct{})}
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

// absent reports that no bucket of the store has a key, and none was put. record.AppendKeyName makes names.
func (f *keyFilter) absent(name []byte) bool {
	if f == nil || !f.ready.Load() {
		return false
	}
	hash := maphash.Bytes(f.seed, name)
	for _, s := range *f.sections.Load() {
		if s.bits.Has(hash) {
			return false
		}
	}
	return true
}

// KnowsKeys reports whether the store tells new idempotency keys from its memory. After it was opened, it reads its tables for each of them until
// the filter has all keys, which takes seconds with millions of keys.
func (s *Store) KnowsKeys() bool { return s.filter == nil || s.filter.ready.Load() }

// add adds a key of a bucket, before reads of the store see it.
func (f *keyFilter) add(name []byte, bucket int64) {
	if f == nil {
		return
	}
	hash := maphash.Bytes(f.seed, name)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.addLocked(&f.put, hash, bucket)
}

func (f *keyFilter) addLocked(to **section, hash uint64, bucket int64) {
	if s := *to; s == nil || s.keys >= s.full {
		if next := f.growLocked(s == nil); next != nil {
			*to = next
		} else { // beyond its capacity a section has more false hits
			s.full = s.keys + askAgainKeys
		}
	}
	s := *to
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
	f.dropLocked(bucket)
}

func (f *keyFilter) dropLocked(bucket int64) {
	kept := slices.DeleteFunc(slices.Clone(*f.sections.Load()), func(s *section) bool {
		if s.last > bucket {
			return false
		}
		f.bound.budget.Give(s.bytes)
		f.keys -= s.keys
		if s == f.put {
			f.put = nil
		}
		if s == f.opening {
			f.opening = nil
		}
		return true
	})
	f.sections.Store(&kept)
}

// size returns the memory of the sections, and how many keys they have.
func (f *keyFilter) size() (bytes, keys uint64) {
	if f == nil {
		return 0, 0
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range *f.sections.Load() {
		bytes += uint64(s.bytes)
	}
	return bytes, f.keys
}

// begin adds the keys that a store has. It reads the first ones itself and begins a goroutine for the others, which close ends.
func (f *keyFilter) begin(db *pebble.DB, log disk.Log) {
	if f == nil {
		return
	}
	from, err := f.fillSome(db, []byte{record.PrefixKey})
	if from == nil || err != nil {
		f.filled(log, err)
		return
	}
	go func() { f.filled(log, f.fill(db, from)) }()
}

// filled ends the filling.
func (f *keyFilter) filled(log disk.Log, err error) {
	if err != nil {
		log.Errorf("the filter of idempotency keys could not be filled, and is not used: %v", err)
	}
	close(f.done)
}

// fill adds the keys of the store from one on. It takes half of a processor at most, because the store may be in use.
func (f *keyFilter) fill(db *pebble.DB, from []byte) (err error) {
	for from != nil {
		began := time.Now()
		if from, err = f.fillSome(db, from); err != nil {
			return err
		}
		select {
		case <-f.stop:
			return nil
		case <-time.After(time.Since(began)):
		}
	}
	return nil
}

// fillSome adds some keys of the store, and returns the next one to begin from. After the last key it returns nil, and the filter is
// ready. A key that is put meanwhile was added already.
func (f *keyFilter) fillSome(db *pebble.DB, from []byte) (next []byte, err error) {
	it, err := db.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: record.PrefixEnd([]byte{record.PrefixKey})})
	if err != nil {
		return nil, fmt.Errorf("scan %x: %w", from, err)
	}
	defer closeAfter(it, &err)
	type found struct {
		hash   uint64
		bucket int64
	}
	some := make([]found, 0, fillKeys)
	ok := it.First()
	for ; ok && len(some) < fillKeys; ok = it.Next() {
		bucket, name, err := record.ParseKeyKey(it.Key())
		if err != nil {
			return nil, err
		}
		some = append(some, found{maphash.Bytes(f.seed, name), bucket})
	}
	if ok {
		next = slices.Clone(it.Key())
	}
	if err := it.Error(); err != nil {
		return nil, fmt.Errorf("scan %x: %w", from, err)
	}
	for _, k := range some {
		f.mu.Lock() // for one key: the deciding goroutine must not wait for many
		f.addLocked(&f.opening, k.hash, k.bucket)
		f.mu.Unlock()
	}
	if next == nil {
		f.ready.Store(true)
	}
	return next, nil
}

// close ends the filling, and gives the memory back.
func (f *keyFilter) close() {
	if f == nil {
		return
	}
	close(f.stop)
	<-f.done
	f.ready.Store(false)
	f.drop(math.MaxInt64)
}

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
