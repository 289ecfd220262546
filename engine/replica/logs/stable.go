package logs

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// Set implements raft.StableStore. It returns when the value, and all that was stored before, survives a loss of power, in every mode.
func (g *Group) Set(name, value []byte) error {
	return g.setStable(kindText, name, text(value), func(b *pebble.Batch) error {
		if err := g.store.commit(b); err != nil {
			return err
		}
		return g.store.files.SyncLog()
	})
}

// SetUint64 implements raft.StableStore. The number survives if something that was stored later survives: it comes before that in
// Pebble's log. Raft needs no more for its numbers, which are the term and the term of the vote. A node that votes stores the candidate
// last, with Set, and counts or grants the vote only then; so the term of each leader is on the disks of a majority. A node that takes over
// a term without a vote has promised nothing in that term before it stores an entry.
func (g *Group) SetUint64(name []byte, value uint64) error {
	return g.setStable(kindNumber, name, number(value), g.store.write)
}

func (g *Group) setStable(kind byte, name, record []byte, commit func(*pebble.Batch) error) error {
	return g.store.use(func() error {
		b := g.store.db.NewBatch()
		err := b.Set(stableKey(g.n, kind, name), record, nil)
		if err == nil {
			err = commit(b)
		}
		if err != nil {
			return fmt.Errorf("store %q of group %d: %w", name, g.n, err)
		}
		return nil
	})
}

// Get implements raft.StableStore. The error is ErrNotFound when nothing was set. The value belongs to the caller.
func (g *Group) Get(name []byte) (value []byte, err error) {
	err = g.getStable(kindText, name, func(record []byte) error {
		value, err = readText(record)
		return err
	})
	return value, err
}

// GetUint64 implements raft.StableStore. The error is ErrNotFound when nothing was set.
func (g *Group) GetUint64(name []byte) (value uint64, err error) {
	err = g.getStable(kindNumber, name, func(record []byte) error {
		value, err = readNumber(record)
		return err
	})
	return value, err
}

func (g *Group) getStable(kind byte, name []byte, read func(record []byte) error) error {
	return g.store.use(func() error {
		v, found, err := g.store.get(stableKey(g.n, kind, name))
		if err == nil && !found {
			return ErrNotFound // not wrapped: Raft compares the text
		}
		if err == nil {
			err = read(v)
		}
		if err != nil {
			return fmt.Errorf("read %q of group %d: %w", name, g.n, err)
		}
		return nil
	})
}
