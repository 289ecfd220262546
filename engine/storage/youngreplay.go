package storage

import (
	"errors"
	"fmt"
	"math"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/batchrepr"

	"github.com/pronybench/prony/engine/storage/record"
	"github.com/pronybench/prony/engine/storage/young"
)

// replay restores the records that were young at the stored position; youngapply.go describes the
// steps. It needs memory for at most all entries that it reads.
type replay struct {
	young *youngRecords
	// stored contains the records that must be in tables, because Apply did not make them young,
	// such as replaced leases.
	stored map[young.Key]bool
}

const joinAgain = "remove this node's data folder, and let it join again"

// replay restores the young records from the log's entries after the floor, up to the store's
// position.
func (y *youngRecords) replay(floor Position, entries func(from, to uint64, visit func(LogEntry) error) error) error {
	at := y.on.Position()
	// The functions called below require the lock, although no other goroutine uses the store yet.
	y.mu.Lock()
	defer y.mu.Unlock()
	y.Records = young.NewIn(floor.Index, eachSet)
	y.applied = appliedLog{marks: []Position{floor}, written: floor.Index, durable: floor.Index}
	if floor.Index == at.Index {
		return y.passLeasesLocked()
	}
	if entries == nil {
		return fmt.Errorf("tasks and leases of the log entries %d to %d are in the node's Raft log only: start the node and stop it cleanly", floor.Index+1, at.Index)
	}
	r, now := replay{y, map[young.Key]bool{}}, floor
	err := entries(floor.Index+1, at.Index, func(e LogEntry) error {
		h, applies, err := now.next(e)
		if err == nil && applies {
			err = r.entryLocked(e, h.batch)
		}
		if err != nil {
			return fmt.Errorf("log entry %d: %w", e.Index, err)
		}
		y.applied.markLocked(now, len(e.Data))
		return nil
	})
	if err != nil {
		return fmt.Errorf("read tasks and leases that are in the log only: %w", err)
	}
	if now != at {
		return fmt.Errorf("the log is not the one that was applied: its entries lead from %+v to %+v, and the store is at %+v: %s", floor, now, at, joinAgain)
	}
	if err := r.settleLocked(); err != nil {
		return err
	}
	y.noteLocked()
	return y.passLeasesLocked()
}

func (r *replay) entryLocked(e LogEntry, batch []byte) error {
	y := r.young
	y.Begin(e.Index, e.Data)
	for rest := batchrepr.Read(batch); ; {
		kind, key, value, ok, err := rest.Next()
		if err != nil || !ok {
			return err
		}
		k, may := youngKey(key)
		if !may {
			continue
		}
		switch kind {
		case pebble.InternalKeyKindSet:
			if y.Drop(k) || !y.Put(k, len(e.Data)-len(rest)-len(value), len(value)) {
				y.Pass(k)
				r.stored[k] = true
			}
		case pebble.InternalKeyKindDelete, pebble.InternalKeyKindSingleDelete:
			y.Drop(k)
			delete(r.stored, k)
		}
	}
}

// settleLocked drops the records that are in the tables. It returns an error if a record in
// r.stored is not in the tables.
func (r *replay) settleLocked() error {
	for _, held := range r.young.Range(young.Key{}, young.Key{Prefix: math.MaxUint8}) {
		stored, err := inTables(r.young.on.db, held.Key)
		if err != nil {
			return err
		}
		if stored {
			r.young.Drop(held.Key)
		}
	}
	for k := range r.stored {
		stored, err := inTables(r.young.on.db, k)
		if err != nil {
			return err
		}
		if !stored {
			return fmt.Errorf("the log has the record %x, but the tables lack it: %s", appendStoredKey(nil, k), joinAgain)
		}
	}
	return nil
}

func inTables(db *pebble.DB, k young.Key) (bool, error) {
	_, closer, err := db.Get(appendStoredKey(nil, k))
	switch {
	case err == nil:
		return true, closer.Close()
	case errors.Is(err, pebble.ErrNotFound):
		return false, nil
	default:
		return false, fmt.Errorf("look up a record of the log in the tables: %w", err)
	}
}

// passLeasesLocked marks the leases in tables as passed, so that an entry that replaces one of
// these leases does not make it young.
func (y *youngRecords) passLeasesLocked() (err error) {
	it, err := iterate(y.on.db, []byte{record.PrefixLease}, []byte{record.PrefixLease + 1})
	if err != nil {
		return fmt.Errorf("find the last lease: %w", err)
	}
	defer closeAfter(it, &err)
	if it.Last() && len(it.Key()) >= record.IDKeyLen {
		y.Pass(leaseKey(record.IDOf(it.Key())))
	}
	return it.Error()
}
