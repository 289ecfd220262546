package queue

import (
	"math"
	"math/bits"
)

// The extension of a task is stored in a separate small record, so that extending one task of a
// large batch does not rewrite the record of the batch. Once a quarter (1/extensionsPart) of the
// batch's tasks would have small records, the batch's record is rewritten and the small records are
// dropped. So the bytes written are proportional to the number of extensions, and the bytes stored
// are proportional to the size of the batch.
const extensionsPart = 4

// extensions is additional state of a lease batch. It is created when a task of the batch is
// extended, or when only some of the batch's leases expire.
type extensions struct {
	pending []uint16 // places extended since the last Flush
	waiting places   // the places of pending, as a set
	stored  places   // tasks with a small record
	// byTime is a heap, by expiry, of the places that were live when the extensions was created.
	// Removed places are no longer in it.
	byTime []uint16
	at     []uint16 // the index in byTime of each place
}

type places []uint64

func (p places) has(i int) bool { return p[i/64]&(1<<(i%64)) != 0 }
func (p places) add(i int)      { p[i/64] |= 1 << (i % 64) }
func (p places) len() (n int) {
	for _, w := range p {
		n += bits.OnesCount64(w)
	}
	return n
}

func (p places) each(f func(i int)) {
	for k, w := range p {
		for ; w != 0; w &= w - 1 {
			f(64*k + bits.TrailingZeros64(w))
		}
	}
}

// extended returns the batch's extensions. The first call creates them, which takes O(n) for a
// batch of n tasks.
func (b *lease) extended() *extensions {
	if b.ext != nil {
		return b.ext
	}
	words := (len(b.refs) + 63) / 64
	sets := make(places, 2*words)
	x := &extensions{waiting: sets[:words:words], stored: sets[words:], at: make([]uint16, len(b.refs)), byTime: make([]uint16, 0, b.live)}
	b.ext = x
	for i := range b.refs {
		if b.refs[i].Attempt != 0 {
			x.at[i] = uint16(len(x.byTime))
			x.byTime = append(x.byTime, uint16(i))
		}
	}
	for k := len(x.byTime)/2 - 1; k >= 0; k-- {
		b.sink(k)
	}
	return x
}

func (b *lease) dropFirst() {
	h := b.ext.byTime
	last := len(h) - 1
	h[0] = h[last]
	b.ext.at[h[0]] = 0
	b.ext.byTime = h[:last]
	if last > 0 {
		b.sink(0)
	}
}

func (b *lease) earlier(k, j int) bool {
	h := b.ext.byTime
	return b.refs[h[k]].ExpiresAtMs < b.refs[h[j]].ExpiresAtMs
}

func (b *lease) swap(k, j int) {
	h, at := b.ext.byTime, b.ext.at
	h[k], h[j] = h[j], h[k]
	at[h[k]], at[h[j]] = uint16(k), uint16(j)
}

func (b *lease) rise(k int) {
	for k > 0 && b.earlier(k, (k-1)/2) {
		b.swap(k, (k-1)/2)
		k = (k - 1) / 2
	}
}

func (b *lease) sink(k int) {
	for {
		j := 2*k + 1
		if j >= len(b.ext.byTime) {
			return
		}
		if j+1 < len(b.ext.byTime) && b.earlier(j+1, j) {
			j++
		}
		if !b.earlier(j, k) {
			return
		}
		b.swap(k, j)
		k = j
	}
}

func (ls *leases) extend(b *lease, i int, untilMs int64) {
	x := b.extended()
	b.refs[i].ExpiresAtMs = untilMs
	b.rise(int(x.at[i]))
	b.sink(int(x.at[i]))
	if !x.waiting.has(i) {
		x.waiting.add(i)
		x.pending = append(x.pending, uint16(i))
		if len(x.pending) == 1 {
			ls.extended = append(ls.extended, b)
		}
	}
	ls.reschedule(b)
}

// reschedule sets the deadline of a batch with extensions to the expiry of its first live task. It
// removes settled tasks from the top of the heap.
func (ls *leases) reschedule(b *lease) {
	x := b.ext
	for len(x.byTime) > 0 && b.refs[x.byTime[0]].Attempt == 0 {
		b.dropFirst()
	}
	b.expiresMs = math.MaxInt64
	if len(x.byTime) > 0 {
		b.expiresMs = b.refs[x.byTime[0]].ExpiresAtMs
	}
	ls.expiry.set(b)
}

func (ls *leases) flushExtended() (any bool) {
	for k, b := range ls.extended {
		ls.extended[k] = nil
		if b.live > 0 {
			any = ls.storeExtensions(b) || any
		}
	}
	ls.extended = ls.extended[:0]
	return any
}

func (ls *leases) storeExtensions(b *lease) (any bool) {
	x := b.ext
	if extensionsPart*(len(x.pending)+x.stored.len()) >= len(b.refs) {
		ls.journal.ReplaceLease(b.id, b.refs, ls.claimedMs(b))
		ls.dropExtensions(b)
		any = true
	} else {
		for _, i := range x.pending {
			if ref := &b.refs[i]; ref.Attempt != 0 {
				ls.journal.PutExtension(b.id, int(i), ref.ExpiresAtMs)
				x.stored.add(int(i))
				any = true
			}
		}
	}
	clear(x.waiting)
	x.pending = x.pending[:0]
	return any
}

func (ls *leases) dropExtensions(b *lease) {
	if b.ext == nil {
		return
	}
	b.ext.stored.each(func(i int) { ls.journal.DropExtension(b.id, i) })
	clear(b.ext.stored)
}
