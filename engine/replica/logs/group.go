package logs

import (
	"bytes"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/hashicorp/raft"

	"github.com/pronybench/prony/engine/internal/stalls"
)

// Group is the log and the stable store of one Raft group. It is safe for concurrent use.
type Group struct {
	store   *Store
	n       uint16
	writing sync.Mutex // serializes changes of the log; held until the change is stored
	// bounds are the bounds of the log. They are updated after a change is stored, while writing is
	// still held.
	bounds atomic.Pointer[bounds]

	voting sync.Mutex // held while a value of the stable store is stored
	votes  *votes     // nil until the first value is stored
	change uint64     // number of the last change of the stable store
}

// bounds are the first and the last index of a log. The log has no gaps. Both are 0 if it is empty.
type bounds struct{ first, last uint64 }

func (b *bounds) empty() bool { return b.last == 0 }

var (
	_ raft.LogStore          = (*Group)(nil)
	_ raft.MonotonicLogStore = (*Group)(nil)
	_ raft.StableStore       = (*Group)(nil)
)

// readBounds finds the bounds with an iterator over the whole store. It also reads the last entry,
// so that Open can refuse an unknown format.
func (g *Group) readBounds(it *pebble.Iterator) error {
	b := &bounds{}
	g.bounds.Store(b)
	own := prefix(g.n, kindEntry)
	if !it.SeekGE(entryKey(g.n, 0)) || !bytes.HasPrefix(it.Key(), own) {
		return it.Error()
	}
	var err error
	if b.first, err = parseEntryKey(it.Key()); err != nil {
		return err
	}
	if !it.SeekLT(entriesEnd(g.n)) {
		return fmt.Errorf("find the last entry: %w", it.Error())
	}
	if b.last, err = parseEntryKey(it.Key()); err != nil {
		return err
	}
	v, err := it.ValueAndErr()
	if err != nil {
		return err
	}
	if err := readEntry(v, b.last, new(raft.Log)); err != nil {
		return fmt.Errorf("entry %d: %w", b.last, err)
	}
	return nil
}

// IsMonotonic implements raft.MonotonicLogStore. The result true makes Raft empty the log after it
// has restored a snapshot; without this the log would have a gap.
func (g *Group) IsMonotonic() bool { return true }

// FirstIndex implements raft.LogStore. It returns 0 for an empty log, and reads only memory.
func (g *Group) FirstIndex() (uint64, error) { return g.bounds.Load().first, nil }

// LastIndex implements raft.LogStore. It returns 0 for an empty log, and reads only memory.
func (g *Group) LastIndex() (uint64, error) { return g.bounds.Load().last, nil }

// Persist returns once everything stored before the call would survive a power loss, in every mode.
func (g *Group) Persist() error { return g.store.Persist() }

// GetLog implements raft.LogStore. It returns raft.ErrLogNotFound if the index is outside the log.
func (g *Group) GetLog(index uint64, log *raft.Log) error {
	if b := g.bounds.Load(); b.empty() || index < b.first || index > b.last {
		return raft.ErrLogNotFound
	}
	return g.store.use(func() error {
		v, found, err := g.store.get(entryKey(g.n, index))
		if err == nil && !found { // the entry was deleted concurrently
			return raft.ErrLogNotFound
		}
		if err == nil {
			err = readEntry(v, index, log)
		}
		if err != nil {
			return fmt.Errorf("read entry %d of group %d: %w", index, g.n, err)
		}
		return nil
	})
}

// StoreLog implements raft.LogStore.
func (g *Group) StoreLog(log *raft.Log) error { return g.StoreLogs([]*raft.Log{log}) }

// StoreLogs implements raft.LogStore. It returns once the entries are as durable as the mode
// requires. After a crash during the call, the log may contain only the first few of them. The
// indexes must be consecutive and greater than the log's last index. After a snapshot beyond the
// log's end, there may be a gap between the log's last entry and the first new one. In this case
// the same commit deletes the previous entries.
func (g *Group) StoreLogs(logs []*raft.Log) error {
	if len(logs) == 0 {
		return nil
	}
	began := time.Now()
	err := g.store.use(func() error {
		g.writing.Lock()
		defer g.writing.Unlock()
		for rest := logs; len(rest) > 0; {
			n, size := commitOf(rest)
			if err := g.appendLocked(rest[:n], size); err != nil {
				return fmt.Errorf("append entries %d to %d to the log of group %d: %w", logs[0].Index, logs[len(logs)-1].Index, g.n, err)
			}
			rest = rest[n:]
		}
		return nil
	})
	if err != nil {
		return err
	}
	took := time.Since(began)
	g.store.count.appends.Add(1)
	g.store.count.appendNs.Add(uint64(took))
	if took > stalls.Slow {
		g.store.work.Took(stalls.AppendWork, took)
	}
	g.store.appended(took)
	return nil
}

// commitOf returns the number of entries to store in the next commit, at least one, and their size
// in bytes.
func commitOf(logs []*raft.Log) (n, size int) {
	for _, l := range logs {
		more := entryKeyLen + entryLen(l)
		if n > 0 && size+more > batchBytesMax {
			break
		}
		n, size = n+1, size+more
	}
	return n, size
}

// entryOverhead is the maximum number of bytes that Pebble's batch adds to a key and a value.
const entryOverhead = 16

// appendLocked stores entries in one commit. The caller holds writing.
func (g *Group) appendLocked(logs []*raft.Log, size int) error {
	was := g.bounds.Load()
	now := bounds{first: was.first, last: logs[len(logs)-1].Index}
	if first := logs[0].Index; was.empty() || first > was.last+1 {
		now.first = first
	} else if first <= was.last {
		return fmt.Errorf("the log already has entries %d to %d", was.first, was.last)
	}
	for i, l := range logs {
		if want := logs[0].Index + uint64(i); l.Index == 0 || l.Index != want {
			return fmt.Errorf("unexpected index %d of an entry: expected %d", l.Index, max(want, 1))
		}
	}
	b := g.store.db.NewBatchWithSize(size + len(logs)*entryOverhead + 64)
	if !was.empty() && now.first != was.first {
		if err := b.DeleteRange(entryKey(g.n, was.first), entryEnd(g.n, was.last), nil); err != nil {
			return err
		}
	}
	for _, l := range logs {
		op := b.SetDeferred(entryKeyLen, entryLen(l))
		putEntryKey(op.Key, g.n, l.Index)
		putEntry(op.Value, l)
		if err := op.Finish(); err != nil {
			return err
		}
	}
	if err := g.store.commit(b); err != nil {
		return err
	}
	g.bounds.Store(&now)
	g.store.count.entries.Add(uint64(len(logs)))
	g.store.count.bytes.Add(uint64(size))
	return nil
}

// DeleteRange implements raft.LogStore. It deletes the entries from first to last, inclusive. They
// must be at the start or the end of the log, so that no gap remains.
func (g *Group) DeleteRange(first, last uint64) error {
	return g.store.use(func() error {
		g.writing.Lock()
		defer g.writing.Unlock()
		if err := g.deleteRangeLocked(first, last); err != nil {
			return fmt.Errorf("delete entries %d to %d from the log of group %d: %w", first, last, g.n, err)
		}
		return nil
	})
}

func (g *Group) deleteRangeLocked(first, last uint64) error {
	was := *g.bounds.Load()
	if was.empty() || last < was.first || first > was.last || first > last {
		return nil
	}
	now := was
	switch {
	case first <= was.first && last >= was.last:
		now = bounds{}
	case first <= was.first:
		now.first = last + 1
	case last >= was.last:
		now.last = first - 1
	default:
		return fmt.Errorf("deleting from the middle of the log, which has entries %d to %d, would leave a gap", was.first, was.last)
	}
	b := g.store.db.NewBatch()
	if err := b.DeleteRange(entryKey(g.n, max(first, was.first)), entryEnd(g.n, min(last, was.last)), nil); err != nil {
		return err
	}
	if err := g.store.commit(b); err != nil {
		return err
	}
	g.bounds.Store(&now)
	return nil
}
