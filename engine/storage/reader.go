package storage

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage/record"
	"github.com/pronybench/prony/engine/storage/young"
)

// reader reads the store's records: the stored records, which are in Pebble under their keys, and
// the young records.
type reader interface {
	// stored returns a reader of the stored records.
	stored() pebble.Reader
	// young returns the value of a young record. If found is false, the record is a stored record
	// or does not exist.
	young(key []byte) (value []byte, found bool)
	// open returns an iterator over the stored records with keys in [from, to), and the young
	// records of this range in the order of their keys. A nil from means the first key, and a nil
	// to means that there is no end.
	open(from, to []byte) (*pebble.Iterator, []youngRecord, error)
}

type youngRecord struct{ key, value []byte }

// live reads the current state of the store. A later call may see later commits.
type live struct{ y *youngRecords }

func (s *Reads) live() reader { return live{s.young} }

func (l live) stored() pebble.Reader { return l.y.on.db }

func (l live) young(key []byte) (value []byte, found bool) {
	k, may := youngKey(key)
	if !may {
		return nil, false
	}
	l.y.mu.Lock()
	defer l.y.mu.Unlock()
	return l.y.Get(k)
}

func (l live) open(from, to []byte) (*pebble.Iterator, []youngRecord, error) {
	y := l.y
	if !mayBeYoung(from, to) {
		it, err := iterate(y.on.db, from, to)
		return it, nil, err
	}
	// The lock prevents a commit from storing a young record between the two reads.
	y.mu.Lock()
	defer y.mu.Unlock()
	it, err := iterate(y.on.db, from, to)
	return it, y.between(span{from, to}), err
}

func iterate(r pebble.Reader, from, to []byte) (*pebble.Iterator, error) {
	return r.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: to})
}

// frozen reads the store as of one moment. It is safe for concurrent use.
type frozen struct {
	snap   *pebble.Snapshot
	recent []youngRecord
}

// span is the range of keys [from, before). A nil from means the first key, and a nil before means
// that there is no end.
type span struct{ from, before []byte }

func tasksOf(queueID uint32) span {
	from := binary.BigEndian.AppendUint32([]byte{record.PrefixTask}, queueID)
	return span{from, record.PrefixEnd(from)}
}

func allLeases() span { return span{[]byte{record.PrefixLease}, []byte{record.PrefixLease + 1}} }

// frozen returns the current state of the store. Of the young records, it includes only those in
// the given spans, which must be in the order of their keys.
func (s *Reads) frozen(spans ...span) frozen {
	return s.frozenWith(func(y *youngRecords) (out []youngRecord) {
		for _, span := range spans {
			out = append(out, y.between(span)...)
		}
		return out
	})
}

// frozenTasks returns the current state of the store. Of the young records, it includes only those
// of the given tasks.
func (s *Reads) frozenTasks(refs []queue.Ref) frozen {
	return s.frozenWith(func(y *youngRecords) (out []youngRecord) {
		for _, ref := range refs {
			k := taskKey(ref)
			if v, found := y.Get(k); found {
				out = append(out, youngRecord{appendStoredKey(nil, k), v})
			}
		}
		slices.SortFunc(out, func(a, b youngRecord) int { return bytes.Compare(a.key, b.key) })
		return out
	})
}

// frozenWith holds the lock while it takes the Pebble snapshot and the young records, so that both
// are as of the same commit.
func (s *Reads) frozenWith(recent func(y *youngRecords) []youngRecord) frozen {
	y := s.young
	y.mu.Lock()
	defer y.mu.Unlock()
	return frozen{s.on.db.NewSnapshot(), recent(y)}
}

// Close releases the snapshot.
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

// between returns the records with keys in [from, to).
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

func mayBeYoung(from, to []byte) bool {
	for _, prefix := range youngPrefixes {
		if bytes.Compare(from, []byte{prefix + 1}) < 0 && (to == nil || bytes.Compare(to, []byte{prefix}) > 0) {
			return true
		}
	}
	return false
}

// between returns the young records in a span. The end of the span must not be longer than the keys
// of young records.
func (y *youngRecords) between(in span) []youngRecord {
	before := young.Key{Prefix: 0xff}
	if in.before != nil {
		before = youngFrom(in.before)
	}
	records := y.Range(youngFrom(in.from), before)
	out := make([]youngRecord, len(records))
	keys := make([]byte, 0, len(records)*record.RefKeyLen)
	for i, r := range records {
		at := len(keys)
		keys = appendStoredKey(keys, r.Key)
		out[i] = youngRecord{keys[at:len(keys):len(keys)], r.Value}
	}
	return between(out, in.from, in.before)
}

// youngFrom returns the smallest possible key of a young record whose stored key is not before key.
func youngFrom(key []byte) (k young.Key) {
	if len(key) == 0 {
		return k
	}
	var padded [record.RefKeyLen]byte
	copy(padded[:], key)
	k.Prefix = key[0]
	if k.Prefix != record.PrefixTask {
		k.Seq = binary.BigEndian.Uint64(padded[1:])
		return k
	}
	k.Queue, k.Priority = binary.BigEndian.Uint32(padded[1:]), padded[5]
	k.Seq = binary.BigEndian.Uint64(padded[6:])
	return k
}
