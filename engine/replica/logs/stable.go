package logs

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// Set implements raft.StableStore. It returns once the value and all other values of the group
// would survive a power loss, in every mode.
func (g *Group) Set(name, value []byte) error { return g.setStable(kindText, name, text(value), true) }

// SetUint64 implements raft.StableStore. The number survives a power loss if anything that is
// stored later survives: either an entry, which follows the number in Pebble's log, or a text,
// which Set stores together with all numbers.
//
// This is sufficient for Raft's two numbers, the current term and the term of the last vote. A node
// that votes stores the candidate last, with Set, and counts or grants the vote only after that. So
// the term of each leader is on the disks of a majority. A node that adopts a term without voting
// has promised nothing in that term before it stores an entry.
func (g *Group) SetUint64(name []byte, value uint64) error {
	return g.setStable(kindNumber, name, number(value), false)
}

func (g *Group) setStable(kind byte, name, record []byte, lasting bool) error {
	return g.store.use(func() error {
		g.voting.Lock()
		defer g.voting.Unlock()
		if err := g.setStableLocked(kind, name, record, lasting); err != nil {
			return fmt.Errorf("store %q of group %d: %w", name, g.n, err)
		}
		return nil
	})
}

func (g *Group) setStableLocked(kind byte, name, record []byte, lasting bool) error {
	if g.votes == nil {
		var err error
		if g.votes, err = openVotes(g.store.files, g.store.dir, g.n); err != nil {
			return g.store.fail(err)
		}
	}
	change := g.change + 1
	if err := g.writeStable(change, stableValue{kind, name, record}); err != nil {
		return err
	}
	g.change = change
	if !lasting {
		return nil
	}
	values, err := g.stableValues()
	if err != nil {
		return err
	}
	place := sealPlace(encodePlace(change, values))
	if len(place) > placeBytes {
		return fmt.Errorf("the values take %d bytes: expected at most %d", len(place), placeBytes)
	}
	if err := g.votes.write(place); err != nil {
		return g.store.fail(err)
	}
	return nil
}

// writeStable writes values and the number of this change to Pebble. A later commit makes them
// durable.
func (g *Group) writeStable(change uint64, values ...stableValue) error {
	b := g.store.db.NewBatch()
	for _, v := range append(values, stableValue{kind: kindChange, record: number(change)}) {
		if err := b.Set(stableKey(g.n, v.kind, v.name), v.record, nil); err != nil {
			return err
		}
	}
	return g.store.write(b)
}

func (g *Group) stableValues() (values []stableValue, err error) {
	it, err := g.store.db.NewIter(&pebble.IterOptions{LowerBound: prefix(g.n, kindNumber), UpperBound: prefix(g.n, kindText+1)})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for ok := it.First(); ok; ok = it.Next() {
		record, err := it.ValueAndErr()
		if err != nil {
			return nil, err
		}
		key := it.Key()
		if kind := key[prefixLen-1]; kind == kindNumber || kind == kindText {
			values = append(values, stableValue{kind, bytes.Clone(key[prefixLen:]), bytes.Clone(record)})
		}
	}
	return values, it.Error()
}

// restoreVotes copies the values of the group's vote file to Pebble if they are newer than
// Pebble's. This is the case if a power loss removed the end of Pebble's log. Open calls it.
func (g *Group) restoreVotes() error {
	record, found, err := g.store.get(stableKey(g.n, kindChange, nil))
	if err == nil && found {
		g.change, err = readNumber(record)
	}
	if err != nil {
		return fmt.Errorf("read the last change of group %d: %w", g.n, err)
	}
	if g.votes, err = openVotes(g.store.files, g.store.dir, g.n); err != nil {
		return err
	}
	if g.votes.change <= g.change {
		return nil
	}
	if err := g.writeStable(g.votes.change, g.votes.values...); err != nil {
		return fmt.Errorf("restore %s: %w", votesName(g.n), err)
	}
	g.change = g.votes.change
	return nil
}

// Get implements raft.StableStore. It returns ErrNotFound if the value was never set. The caller
// owns the value.
func (g *Group) Get(name []byte) (value []byte, err error) {
	err = g.getStable(kindText, name, func(record []byte) error {
		value, err = readText(record)
		return err
	})
	return value, err
}

// GetUint64 implements raft.StableStore. It returns ErrNotFound if the value was never set.
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
			return ErrNotFound // do not wrap it: Raft compares the text
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
