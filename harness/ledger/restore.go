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

// ErrCheckpoint reports that a checkpoint or a journal is damaged, truncated, or of another
// version.
var ErrCheckpoint = errors.New("unusable checkpoint")

// beyondMax bounds the number of tasks that a restored ledger assumes were sent after its
// checkpoint. Each of them needs a byte of memory.
const beyondMax = 1 << 27

// beyond is shared by all producers of a restored ledger. left is the number of further tasks that
// the ledger may assume were sent after its checkpoint.
type beyond struct{ left atomic.Int64 }

// Restore reconstructs the ledger of a process that died. It needs the last checkpoint and the
// journals that were written since, in any order; earlier journals do no harm. The comment of
// Checkpoint lists the faults that can then be proved. If no journal is passed, Restore assumes
// that every outstanding task may have been completed after the checkpoint. The caller must pass no
// journal if the host was restarted, or if an older checkpoint is used because the last one is
// missing: a journal may then have lost its end.
//
// The remaining tasks of the load are claimed and completed with the restored ledger, which may
// also be checkpointed. Its method Sent panics. It does not watch order, leases and reads, because
// the checkpoint does not contain the necessary data. It accepts tasks that were sent after the
// checkpoint, up to a total of 134,217,728 over all producers, and needs one byte for each of them.
// Further tasks count as corrupted.
//
// The error is ErrCheckpoint if a file is damaged or truncated. Restore reads at most 1 GiB of a
// checkpoint.
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

// Restored reports whether Restore created the ledger. If so, tasks that the ledger does not know
// may be delivered.
func (l *Ledger) Restored() bool { return len(l.accounts) > 0 && l.accounts[0].beyond != nil }

// resolve is called after a restore. It marks the enqueues and completions whose answer is not
// known and will never be known. asked is true if all requested completions are known.
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

// reach extends the account up to a task, if the bound allows it. It assumes that all tasks up to
// and including this one were sent, and that their enqueues will never be answered.
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

func readCheckpoint(r io.Reader) (*Ledger, error) {
	all, err := io.ReadAll(io.LimitReader(r, checkpointBytesMax+1))
	if err != nil {
		return nil, err
	}
	if len(all) > checkpointBytesMax {
		return nil, fmt.Errorf("%w: the file has more than %d bytes", ErrCheckpoint, checkpointBytesMax)
	}
	if !bytes.HasPrefix(all, []byte(checkpointMagic)) {
		return nil, fmt.Errorf("%w: the file is not a checkpoint of this version", ErrCheckpoint)
	}
	end := len(all) - 8
	if end < len(checkpointMagic) || xxhash.Sum64(all[:end]) != binary.LittleEndian.Uint64(all[end:]) {
		return nil, fmt.Errorf("%w: the file is damaged or truncated", ErrCheckpoint)
	}
	d := &decoder{left: all[len(checkpointMagic):end]}
	l := d.ledger()
	if d.bad || len(d.left) > 0 {
		return nil, fmt.Errorf("%w: the content is inconsistent", ErrCheckpoint)
	}
	return l, nil
}

// decoder reads a checkpoint or a journal. After the first invalid value bad is true, and all
// further reads return zero values.
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
