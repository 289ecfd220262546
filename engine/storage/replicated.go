package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/batchrepr"

	"github.com/pronybench/prony/engine/internal/stalls"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage/record"
)

// Log is the log of a replicated store, which all nodes share. It orders the entries and makes each
// node apply them with Store.Apply.
type Log interface {
	// Propose proposes an entry. The caller must not use its bytes afterwards. Propose blocks while
	// too many entries are under way.
	Propose(entry []byte) Proposal
	// Verify confirms that this node led the shard at some moment after the call. If so, an answer
	// from the state of this node is current.
	Verify() Proposal
}

// Proposal is a proposed entry, or a call of Verify, whose outcome may not be known yet.
type Proposal interface {
	// Wait returns when the entry is applied to this node's store, or when the leadership is
	// confirmed. Any number of goroutines may call it. If it returns an error, the entry may still
	// be applied, unless the error excludes this.
	Wait() error
	// Done reports whether Wait would return immediately.
	Done() bool
}

// Tenure is one period during which a node leads a shard.
type Tenure struct {
	Term uint64
	// ID is unique per tenure, even for two tenures of one node in one term.
	ID uint64
}

// Position is a position in the shared log: that of the last entry that a store has applied.
type Position struct {
	Index, Term uint64 // index and term of the last applied entry
	Tenure      uint64 // ID of the tenure whose entries are being applied
	Seq         uint64 // number of the last applied entry in that tenure
}

// An entry is a head followed by the bytes of a Pebble batch. The first entry of a tenure has no
// batch:
//
//	format 1 byte │ flags 1 │ term 8 │ tenure 8 │ seq 8 │ batch
//
// with integers in big-endian order.
const (
	entryFormat = 1
	entrySystem = 1 // flag: the entry changes the node's records
	// entryNoKeys is the flag of an entry that puts and drops no idempotency keys. Older programs
	// never set it.
	entryNoKeys   = 2
	entryHeadLen  = 1 + 1 + 3*8
	positionBytes = 1 + 4*8
)

type entryHead struct {
	system, noKeys    bool
	term, tenure, seq uint64
	batch             []byte // the bytes after the head
}

func parseEntry(b []byte) (h entryHead, err error) {
	if len(b) < entryHeadLen {
		return h, fmt.Errorf("it has %d bytes, expected at least %d", len(b), entryHeadLen)
	}
	if b[0] != entryFormat {
		return h, fmt.Errorf("it has format %d, this program reads format %d: use a newer one", b[0], entryFormat)
	}
	h.system, h.noKeys = b[1]&entrySystem != 0, b[1]&entryNoKeys != 0
	h.term, h.tenure, h.seq = binary.BigEndian.Uint64(b[2:]), binary.BigEndian.Uint64(b[10:]), binary.BigEndian.Uint64(b[18:])
	if h.batch = b[entryHeadLen:]; len(h.batch) > 0 && len(h.batch) < batchrepr.HeaderLen {
		return h, fmt.Errorf("its batch has %d bytes, expected at least %d", len(h.batch), batchrepr.HeaderLen)
	}
	return h, nil
}

// next advances the position to the next entry. applies is false if the entry must be skipped: see
// ErrSkipped.
func (p *Position) next(e LogEntry) (h entryHead, applies bool, err error) {
	if h, err = parseEntry(e.Data); err != nil {
		return h, false, err
	}
	p.Index, p.Term = e.Index, e.Term
	switch {
	case h.term != e.Term:
		return h, false, nil
	case h.seq == 0:
		p.Tenure, p.Seq = h.tenure, 0
	case h.tenure != p.Tenure || h.seq != p.Seq+1:
		return h, false, nil
	default:
		p.Seq = h.seq
	}
	return h, true, nil
}

// ChangesStore reports whether an entry of the log changes the store. It returns false for the
// first entry of a tenure.
func ChangesStore(entry []byte) bool { return len(entry) > entryHeadLen }

func (h entryHead) append(batch []byte) []byte {
	b := make([]byte, 0, entryHeadLen+len(batch))
	var flags byte
	if h.system {
		flags = entrySystem
	}
	if h.noKeys {
		flags |= entryNoKeys
	}
	b = append(b, entryFormat, flags)
	b = binary.BigEndian.AppendUint64(b, h.term)
	b = binary.BigEndian.AppendUint64(b, h.tenure)
	b = binary.BigEndian.AppendUint64(b, h.seq)
	return append(b, batch...)
}

// Begin returns the first entry of a tenure. Once this entry is applied, no further entry of an
// earlier tenure takes effect, so the store is in the state in which the tenure starts.
func (t Tenure) Begin() []byte { return entryHead{term: t.Term, tenure: t.ID}.append(nil) }

// NewReplicatedBatch returns an empty batch. Its Submit proposes the batch to log as an entry of
// the tenure.
func (s *Store) NewReplicatedBatch(log Log, tenure Tenure) *Batch {
	b := s.NewBatch()
	b.log, b.head = log, entryHead{term: tenure.Term, tenure: tenure.ID}
	return b
}

// LogEntry is an entry with its index and term in the log.
type LogEntry struct {
	Index, Term uint64
	Data        []byte
}

// Applied is the outcome of Apply.
type Applied struct {
	// Skipped reports, for each entry, whether it was skipped: see ErrSkipped.
	Skipped []bool
	// System is true if an entry changed system records.
	System bool
	// Parts is how the time of the commit in Pebble is divided.
	Parts stalls.Parts
}

// Apply applies entries of the log in order. It ignores entries up to the store's position, which
// were applied before. The effects survive a crash once Flush has returned, provided that the log
// retains the entries after Kept. The store keeps references to the bytes of the entries, so the
// caller must not change them. After an error the store must not be used. Only one goroutine at a
// time may call Apply.
func (s *Store) Apply(entries []LogEntry) (out Applied, err error) {
	y := s.young
	y.mu.Lock()
	defer y.mu.Unlock()
	at := s.Position()
	for len(entries) > len(out.Skipped) && entries[len(out.Skipped)].Index <= at.Index {
		out.Skipped = append(out.Skipped, false)
	}
	fresh := entries[len(out.Skipped):]
	if len(fresh) == 0 {
		return out, nil
	}
	b := s.db.NewBatch()
	defer closeAfter(b, &err)
	if err := y.makeRoomLocked(fresh, b); err != nil {
		return out, err
	}
	dropped := int64(0)
	for _, e := range fresh {
		h, applies, err := at.next(e)
		if err == nil && applies && len(h.batch) > 0 {
			out.System = out.System || h.system
			err = y.applyLocked(e, b)
			if err == nil && s.filter != nil && !h.noKeys {
				dropped, err = s.filter.added(h.batch, dropped)
			}
		}
		if err != nil {
			return out, fmt.Errorf("log entry %d: %w", e.Index, err)
		}
		out.Skipped = append(out.Skipped, !applies)
		y.applied.markLocked(at, len(e.Data))
	}
	if err := y.setPositionLocked(at, b); err != nil {
		return out, err
	}
	s.flushes.Commit(b.Len())
	if err := s.db.Apply(b, pebble.NoSync); err != nil {
		return out, fmt.Errorf("apply the log up to entry %d: %w", at.Index, err)
	}
	out.Parts = stalls.PartsOf(b)
	if dropped > 0 {
		s.filter.drop(dropped)
	}
	s.position.Store(&at)
	y.noteLocked()
	return out, nil
}

func (s *Store) readPosition() (floor Position, err error) {
	var p Position
	v, found, err := get(s.live(), []byte{record.PrefixPosition})
	if err == nil && found {
		p, floor, err = decodePosition(v)
	}
	s.position.Store(&p)
	return floor, err
}

// encode encodes a position and its floor:
//
//	format 1 byte │ index 8 │ term 8 │ tenure 8 │ seq 8 │ the same of the floor
//
// with integers in big-endian order. If the position equals its floor, only the first five fields
// are written, in the earlier format.
func (p Position) encode(floor Position) []byte {
	b := append(make([]byte, 0, 2*positionBytes), record.Format)
	b = p.appendFields(b)
	if floor.Index < p.Index {
		b[0] = record.FormatYoung
		b = floor.appendFields(b)
	}
	return b
}

func (p Position) appendFields(b []byte) []byte {
	for _, n := range []uint64{p.Index, p.Term, p.Tenure, p.Seq} {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	return b
}

func decodePosition(v []byte) (p, floor Position, err error) {
	switch {
	case len(v) == positionBytes && v[0] == record.Format:
		p = positionOf(v[1:])
		return p, p, nil
	case len(v) == 2*positionBytes-1 && v[0] == record.FormatYoung:
		p, floor = positionOf(v[1:]), positionOf(v[positionBytes:])
		if floor.Index < p.Index {
			return p, floor, nil
		}
	}
	return p, floor, fmt.Errorf("the position %x has an unknown format: use the server that wrote it, or a newer one", v)
}

func positionOf(v []byte) (p Position) {
	for i, n := range []*uint64{&p.Index, &p.Term, &p.Tenure, &p.Seq} {
		*n = binary.BigEndian.Uint64(v[8*i:])
	}
	return p
}

// SkipEndedLeases finds the first lease batch that exists, so that Recover starts its scan there.
// Batches have increasing numbers, and an ended batch never exists again. Without this call,
// Recover would step over the deleted keys of all batches that ended since the last flush, while
// clients wait for it. SkipEndedLeases steps only over the batches that ended since its previous
// call. It is safe for concurrent use.
func (s *Reads) SkipEndedLeases() error {
	was := s.firstLease.Load()
	first := make([]byte, record.IDKeyLen)
	record.PutIDKey(first, record.PrefixLease, was)
	y := s.young
	y.mu.Lock() // so that no young record is stored between the two look-ups
	it, err := iterate(s.on.db, first, []byte{record.PrefixLease + 1})
	next, found := y.First(leaseKey(was))
	y.mu.Unlock()
	if err != nil {
		return fmt.Errorf("find the first lease: %w", err)
	}
	if it.First() {
		if len(it.Key()) < record.IDKeyLen {
			return errors.Join(fmt.Errorf("key %x of a lease has %d bytes, expected %d", it.Key(), len(it.Key()), record.IDKeyLen), it.Close())
		}
		if stored := record.IDOf(it.Key()); !found || stored < next.Seq {
			next, found = leaseKey(stored), true
		}
	}
	if err := errors.Join(it.Error(), it.Close()); err != nil {
		return fmt.Errorf("find the first lease: %w", err)
	}
	if found {
		s.firstLease.CompareAndSwap(was, next.Seq)
	}
	return nil
}

// Flush returns when everything that was applied before the call is on disk. In a replicated store,
// young records are not on disk, but in the log's entries after Kept.
func (s *Store) Flush() error {
	a := &s.young.applied
	s.young.mu.Lock()
	floor := a.written
	s.young.mu.Unlock()
	if err := s.db.Flush(); err != nil {
		return fmt.Errorf("flush the store: %w", err)
	}
	s.young.mu.Lock()
	a.durable = max(a.durable, floor)
	s.young.mu.Unlock()
	return nil
}

// flight is a proposal with the keys that it changes, which reads may not see yet.
type flight struct {
	proposal Proposal
	keys     map[string]keptKey
	uniques  map[uniqueKey]uniqueChange
	linked   map[queue.Ref]bool
}

func (b *Batch) propose() (Commit, error) {
	b.head.seq++
	b.head.noKeys = !b.changesKeys
	entry := b.head.append(b.b.Repr())
	b.head.system, b.changesKeys, b.dropsKeys = false, false, 0
	if err := b.b.Close(); err != nil {
		return Commit{}, fmt.Errorf("close a batch: %w", err)
	}
	b.b = b.store.db.NewBatch()
	c := Commit{proposal: b.log.Propose(entry)}
	b.flights = slices.DeleteFunc(b.flights, func(f flight) bool { return f.proposal.Done() })
	if len(b.keys)+len(b.uniques)+len(b.linked) > 0 {
		b.flights = append(b.flights, flight{c.proposal, b.keys, b.uniques, b.linked})
		b.keys, b.uniques, b.linked = nil, nil, nil
	}
	return c, nil
}

func (b *Batch) inFlight() (k keptKey, found bool) {
	for i := len(b.flights) - 1; i >= 0; i-- {
		if k, found := b.flights[i].keys[string(b.name)]; found {
			return k, true
		}
	}
	return k, false
}

// Visible returns when reads see the commit and all commits before it. In a store that is not
// replicated, reads see a commit immediately.
func (c Commit) Visible() error {
	if c.proposal == nil {
		return nil
	}
	return c.proposal.Wait()
}
