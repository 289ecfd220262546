package storage

import (
	"bytes"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage/young"
)

// reader reads the store's records, both those that Pebble has under their keys and the young ones.
type reader interface {
	stored() pebble.Reader
	// young returns the value of a young record. If there is none, stored has the record, or there is none at all.
	young(key []byte) (value []byte, found bool)
	// open returns an iterator over the stored records of a range of keys, and the young records of the range in their order. nil is
	// the beginning, and the end.
	open(from, to []byte) (*pebble.Iterator, []youngRecord, error)
}

// youngRecord is a young record with the key that it is stored under later.
type youngRecord struct{ key, value []byte }

// live reads what the store has now. Each call may see later commits.
type live struct{ *Store }

func (s *Store) live() reader { return live{s} }

func (l live) stored() pebble.Reader { return l.db }

func (l live) young(key []byte) (value []byte, found bool) {
	y := l.Store.young
	if y == nil {
		return nil, false
	}
	k, may := youngKey(key)
	if !may {
		return nil, false
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.Get(k)
}

func (l live) open(from, to []byte) (*pebble.Iterator, []youngRecord, error) {
	y := l.Store.young
	if y == nil || !mayBeYoung(from, to) {
		it, err := iterate(l.db, from, to)
		return it, nil, err
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	it, err := iterate(l.db, from, to)
	return it, between(y.listLocked(from, to), from, to), err
}

func iterate(r pebble.Reader, from, to []byte) (*pebble.Iterator, error) {
	return r.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: to})
}

// frozen reads what the store had at one moment. It is safe for concurrent use.
type frozen struct {
	snap   *pebble.Snapshot
	recent []youngRecord
}

// frozen returns what the store has now. Of the young records it has those of some tasks only, unless refs is nil.
func (s *Store) frozen(refs []queue.Ref) frozen {
	y := s.young
	if y == nil {
		return frozen{snap: s.db.NewSnapshot()}
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	f := frozen{snap: s.db.NewSnapshot()}
	if refs == nil {
		f.recent = y.listLocked(nil, nil)
		return f
	}
	for _, ref := range refs {
		k := taskKey(ref)
		if v, found := y.Get(k); found {
			f.recent = append(f.recent, youngRecord{appendStoredKey(nil, k), v})
		}
	}
	slices.SortFunc(f.recent, func(a, b youngRecord) int { return bytes.Compare(a.key, b.key) })
	return f
}

// Close releases what the store had.
func (f frozen) Close() error { return f.snap.Close() }

func (f frozen) stored() pebble.Reader { return f.snap }

func (f frozen) young(key []byte) (value []byte, found bool) {
	i, found := slices.BinarySearchFunc(f.recent, key, func(r youngRecord, key []byte) int { return bytes.Compare(r.key, key) })
	if !found {
		return nil, false
	}
	return f.recent[i].value, true
}

func (f frozen) open(from, to []byte) (*pebble.Iterator, []youngRecord, error) {
	it, err := iterate(f.snap, from, to)
	return it, between(f.recent, from, to), err
}

// between returns the records of a range of keys.
func between(all []youngRecord, from, to []byte) []youngRecord {
	at := func(key []byte) int {
		i, _ := slices.BinarySearchFunc(all, key, func(r youngRecord, key []byte) int { return bytes.Compare(r.key, key) })
		return i
	}
	end := len(all)
	if to != nil {
		end = at(to)
	}
	return all[at(from):max(at(from), end)]
}

// mayBeYoung reports whether a range of keys may have young records.
func mayBeYoung(from, to []byte) bool {
	for _, prefix := range youngPrefixes {
		if bytes.Compare(from, []byte{prefix + 1}) < 0 && (to == nil || bytes.Compare(to, []byte{prefix}) > 0) {
			return true
		}
	}
	return false
}

// listLocked returns at least the records of a range of keys.
func (y *youngRecords) listLocked(from, to []byte) (out []youngRecord) {
	for _, r := range y.List(func(run young.Key) bool {
		low := appendStoredKey(nil, run)
		run.Seq = 1<<64 - 1
		return (to == nil || bytes.Compare(low, to) < 0) && bytes.Compare(appendStoredKey(nil, run), from) >= 0
	}) {
		out = append(out, youngRecord{appendStoredKey(nil, r.Key), r.Value})
	}
	return out
}
