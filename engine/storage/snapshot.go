package storage

import (
	"fmt"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/pronybench/prony/engine/queue"
)

// Snapshot is a consistent view of a store's records. Package fsck uses it; the server's reads are
// methods of Reads. The store must stay open until Close. It is safe for concurrent use.
type Snapshot struct{ r frozen }

// Snapshot returns a view of all commits submitted before the call.
func (s *Reads) Snapshot() Snapshot { return Snapshot{s.frozen(span{})} }

// Close releases the view.
func (s Snapshot) Close() error { return s.r.Close() }

// Get returns a copy of a key's value. found is false if the key does not exist.
func (s Snapshot) Get(key []byte) (value []byte, found bool, err error) { return get(s.r, key) }

// Exists reports whether a key exists in the view.
func (s Snapshot) Exists(key []byte) (bool, error) { return exists(s.r, key) }

// Scan calls visit for the keys with a prefix, in order, until visit returns false. k and v are
// valid only during the call of visit.
func (s Snapshot) Scan(prefix []byte, visit func(k, v []byte) (bool, error)) error {
	return scan(s.r, prefix, prefix, visit)
}

// Iterate returns an iterator over the stored keys, without young records, whose first byte is
// prefix. The caller must close it.
func (s Snapshot) Iterate(prefix byte) (*pebble.Iterator, error) {
	it, err := s.r.stored().NewIter(&pebble.IterOptions{LowerBound: []byte{prefix}, UpperBound: []byte{prefix + 1}})
	if err != nil {
		return nil, fmt.Errorf("scan %c: %w", prefix, err)
	}
	return it, nil
}

// Queues returns the records of all queues.
func (s Snapshot) Queues() ([]queue.Record, error) { return readQueues(s.r) }

// Leases calls visit for each lease batch until visit returns false. Settled refs have Attempt 0.
func (s Snapshot) Leases(visit func(queue.RecoveredLease) (bool, error)) (err error) {
	look, err := newSettledRefs(s.r, new(atomic.Uint64))
	if err != nil {
		return err
	}
	defer closeAfter(look, &err)
	return scanLeases(s.r, 0, func(l queue.RecoveredLease) (bool, error) {
		if err := look.void(l.Batch, l.Refs); err != nil {
			return false, err
		}
		return visit(l)
	})
}
