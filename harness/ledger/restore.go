package ledger

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/cespare/xxhash/v2"
)

// ErrCheckpoint says that a checkpoint or a journal is damaged, cut, or of another version.
var ErrCheckpoint = errors.New("the checkpoint can't be used")

// beyondMax bounds the tasks that a restored ledger takes for sent after its checkpoint: a byte is held for each.
const beyondMax = 1 << 27

// beyond is how many more tasks a restored ledger may take for sent after its checkpoint, over all producers.
type beyond struct{ left atomic.Int64 }

// Restore returns the ledger of a process that died, from its last checkpoint and the journals that were written since, in any order;
// earlier journals do no harm. Checkpoint says what can be proved of its tasks. Without a journal, it is not known of any outstanding task
// whether it was completed after the checkpoint: that is what is true too where a host has started again, or an older checkpoint is the
// last one that is left, since a journal may then have lost its end.
//
// What is left of the load is claimed and completed under the restored ledger, which may be checkpointed in turn. Sent panics. Order,
// leases and reads are not watched, since they need what is missing. Of tasks that were sent after the checkpoint the ledger takes
// 134,217,728, over all producers, and as many bytes; one beyond them counts as corrupted.
//
// A file that is damaged or cut is an ErrCheckpoint. Restore reads at most 1 GiB of a checkpoint.
func Restore(checkpoint io.Reader, journals ...io.Reader) (*Ledger, error) {
	l, err := readCheckpoint(checkpoint)
	if err != nil {
		return nil, fmt.Errorf("restore a ledger: %w", err)
	}
	for _, j := range journals {
		err := readJournal(j, l.round, func(producer, sequence uint64) {
			if producer < uint64(len(l.accounts)) && sequence < l.accounts[producer].sent {
				l.accounts[producer].mark(sequence, completionAsked)
			}
		})
		if err != nil {
			return nil, fmt.Errorf("restore a ledger: %w: %w", ErrCheckpoint, err)
		}
	}
	room := &beyond{}
	room.left.Store(beyondMax)
	for i := range l.accounts {
		l.accounts[i].beyond = room
		l.accounts[i].resolve(len(journals) > 0)
	}
	l.used.Store(int64(len(l.accounts)))
	return l, nil
}

// Restored reports whether the ledger is what Restore returned: tasks that it does not know may be delivered.
func (l *Ledger) Restored() bool { return len(l.accounts) > 0 && l.accounts[0].beyond != nil }

// resolve says of each task what is not known any more. asked is whether all completions that were asked for are known.
func (a *account) resolve(asked bool) {
	for at := len(a.live) - 1; at >= 0; at-- {
		p := a.live[at]
		for i := range uint64(pageTasks) {
			if p.index*pageTasks+i >= a.sent {
				break
			}
			task := p.tasks[i]
			if task&answered == 0 {
				a.update(p, i, unknown)
			}
			if task&(completed|refused) == 0 && (!asked || task&completionAsked != 0) {
				a.update(p, i, completionInDoubt)
			}
			p.tasks[i] &^= delivered
		}
		a.release(at)
	}
}

// reach takes all tasks up to one for sent, with an enqueue that will never be answered, where that is possible.
func (a *account) reach(sequence uint64) bool {
	if a.beyond == nil {
		return false
	}
	n := int64(sequence + 1 - a.sent)
	if a.beyond.left.Add(-n) < 0 {
		a.beyond.left.Add(n)
		return false
	}
	a.answer(a.send(uint64(n)), uint64(n), unknown)
	return true
}

// readCheckpoint returns a ledger as it was.
func readCheckpoint(r io.Reader) (*Ledger, error) {
	all, err := io.ReadAll(io.LimitReader(r, checkpointBytesMax+1))
	if err != nil {
		return nil, err
	}
	if len(all) > checkpointBytesMax {
		return nil, fmt.Errorf("%w: it has more than %d bytes", ErrCheckpoint, checkpointBytesMax)
	}
	if !bytes.HasPrefix(all, []byte(checkpointMagic)) {
		return nil, fmt.Errorf("%w: the file is no checkpoint of this version", ErrCheckpoint)
	}
	end := len(all) - 8
	if end < len(checkpointMagic) || xxhash.Sum64(all[:end]) != binary.LittleEndian.Uint64(all[end:]) {
		return nil, fmt.Errorf("%w: the file is damaged or cut", ErrCheckpoint)
	}
	d := &decoder{left: all[len(checkpointMagic):end]}
	l := d.ledger()
	if d.bad || len(d.left) > 0 {
		return nil, fmt.Errorf("%w: its content contradicts itself", ErrCheckpoint)
	}
	return l, nil
}

// decoder reads what was appended. It is bad, and returns zeros, from the first thing on that cannot be.
type decoder struct {
	left []byte
	bad  bool
}

func (d *decoder) number() uint64 {
	v, n := binary.Uvarint(d.left)
	if n <= 0 {
		d.bad, d.left = true, nil
		return 0
	}
	d.left = d.left[n:]
	return v
}

// upTo is a number that may not be higher than most.
func (d *decoder) upTo(most uint64) uint64 {
	v := d.number()
	if v > most {
		d.bad, d.left = true, nil
		return 0
	}
	return v
}

func (d *decoder) bytes(n int) []byte {
	if n > len(d.left) {
		d.bad, d.left = true, nil
		return make([]byte, n)
	}
	b := d.left[:n]
	d.left = d.left[n:]
	return b
}

func (d *decoder) text() string { return string(d.bytes(int(d.upTo(uint64(len(d.left)))))) }

func (d *decoder) ledger() *Ledger {
	round := binary.LittleEndian.Uint64(d.bytes(8))
	producers := d.upTo(MaxProducers)
	if d.bad || producers == 0 {
		d.bad = true
		return nil
	}
	l := New(round, int(producers), nil)
	for range d.upTo(routesMax) {
		r := Route{Tenant: d.text(), Queue: d.text()}
		l.routes[routeHash(r.Tenant, r.Queue)] = r
	}
	l.faults.reads.Store(d.number())
	l.faults.unreadableCompleted.Store(d.number())
	for _, kind := range l.faults.kinds() {
		kind.count = d.number()
		for range d.upTo(samplesPerKind) {
			kind.samples = append(kind.samples, d.text())
		}
	}
	for i := range d.upTo(producers) {
		d.account(&l.accounts[i])
	}
	return l
}

func (d *decoder) account(a *account) {
	a.sent = d.upTo(MaxSequences)
	a.acknowledged, a.refused, a.completed, a.completionsRefused = d.number(), d.number(), d.number(), d.number()
	for n := d.number(); n > 0 && !d.bad; n-- {
		p := &page{index: d.upTo(MaxSequences / pageTasks)}
		a.made++
		a.live = append(a.live, p)
		for i := uint64(0); i < pageTasks && !d.bad; {
			run := d.upTo(pageTasks - i)
			flags := d.bytes(1)[0]
			if run == 0 {
				d.bad = true
				return
			}
			for ; run > 0; run-- {
				a.update(p, i, flags)
				i++
			}
		}
	}
}
