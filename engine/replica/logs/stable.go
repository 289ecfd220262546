package logs

import "fmt"

// Set implements raft.StableStore. It returns when the value survives a loss of power, in every mode.
func (g *Group) Set(name, value []byte) error { return g.setStable(kindText, name, text(value)) }

// SetUint64 implements raft.StableStore. It returns when the number survives a loss of power, in every mode.
func (g *Group) SetUint64(name []byte, value uint64) error {
	return g.setStable(kindNumber, name, number(value))
}

func (g *Group) setStable(kind byte, name, record []byte) error {
	return g.store.use(func() error {
		b := g.store.db.NewBatch()
		err := b.Set(stableKey(g.n, kind, name), record, nil)
		if err == nil {
			err = g.store.commit(b)
		}
		if err == nil {
			err = g.store.files.SyncLog()
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
