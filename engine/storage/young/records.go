package young

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"sort"
)

// Records contains the young records of a store: those that are in its log only.
type Records struct {
	runs  map[Key]*run
	last  *run // the last used run
	of    Key  // the key of the run last in runs
	parts []*part
	head  int   // index in parts of the oldest part
	ended int   // number of parts from head on that have no live record
	bytes int64 // total size of the buffers of all parts with a live record

	number uint64 // number of the last commit
	live   int
	checks uint64 // number of calls of Fits

	// each finds the records in the buffer of a commit.
	each Each
	buf  []byte // buffer of the current commit; see Begin
	part *part  // the current commit's part; nil until its first record is put
}

// Each calls visit for each record that a commit put, with the offset at and length n of its value
// in the commit's buffer. It may also visit keys that are not in Records, and may visit a key
// twice.
type Each func(buf []byte, visit func(k Key, at, n int)) error

type part struct {
	number uint64
	buf    []byte // nil after the part's last record ended
	live   int
}

// run contains the records whose keys have the same Prefix, Queue and Priority, in the order of
// Seq.
type run struct {
	slots []slot
	head  int // all slots before head have ended
	live  int
	next  uint64 // records with lower seqs must not be added

	// check is the number of the last call of Fits that examined the run. In this call, checked is
	// the lowest seq that may follow the keys examined so far.
	check, checked uint64
}

type slot struct {
	seq   uint64
	part  *part // nil if the record has ended
	at, n uint32
}

// New returns an empty Records. The numbers of its commits start at beyond + 1.
func New(beyond uint64) *Records { return NewIn(beyond, eachPut) }

// NewIn is like New, but for records that are parts of the caller's buffers; see Begin.
func NewIn(beyond uint64, each Each) *Records {
	return &Records{runs: map[Key]*run{}, number: beyond, each: each}
}

// Len returns the number of records.
func (r *Records) Len() int { return r.live }

// Bytes returns the size of the buffers in bytes.
func (r *Records) Bytes() int64 { return r.bytes }

// Number returns the number of the last commit.
func (r *Records) Number() uint64 { return r.number }

// Floor returns the highest number of a commit such that all records of this commit and of earlier
// commits have ended.
func (r *Records) Floor() uint64 {
	if r.head == len(r.parts) {
		return r.number
	}
	return r.parts[r.head].number - 1
}

// Fits reports whether the records of a commit may be added with Add. In each run, their seqs must
// ascend, and must be higher than the seqs added before.
func (r *Records) Fits(p *Puts) bool {
	r.checks++
	for _, i := range p.items {
		of := r.at(i.key)
		if of.check != r.checks {
			of.check, of.checked = r.checks, of.next
		}
		if i.key.Seq < of.checked {
			return false
		}
		of.checked = i.key.Seq + 1
	}
	return true
}

// Add adds the records of a commit, and returns their encoding for the log. Fits must have returned
// true for them. The result is valid until p changes.
func (r *Records) Add(p *Puts) (encoded []byte) {
	r.number++
	binary.BigEndian.PutUint64(p.buf[2:], r.number)
	of := &part{number: r.number, buf: bytes.Clone(p.buf), live: len(p.items)}
	for _, i := range p.items {
		r.at(i.key).push(slot{i.key.Seq, of, i.at, i.n})
	}
	r.live += of.live
	r.bytes += int64(len(of.buf))
	r.parts = append(r.parts, of)
	return p.buf
}

// Begin starts a commit. number must be higher than the numbers of all earlier commits. Put then
// adds records that are parts of buf. The caller must not change buf afterwards.
func (r *Records) Begin(number uint64, buf []byte) { r.number, r.buf, r.part = number, buf, nil }

// Put adds a record of the current commit, whose value is at offset at in the buffer and n bytes
// long. It returns false, and does not add the record, if an earlier Put or Pass in the same run
// had the same or a higher seq.
func (r *Records) Put(k Key, at, n int) bool {
	of := r.at(k)
	if k.Seq < of.next {
		return false
	}
	if r.part == nil || r.part.live == 0 {
		r.part = &part{number: r.number, buf: r.buf}
		r.parts = append(r.parts, r.part)
		r.bytes += int64(len(r.buf))
	}
	of.push(slot{k.Seq, r.part, uint32(at), uint32(n)})
	r.part.live++
	r.live++
	return true
}

// Pass records that the record with this key was not added. Later calls of Put reject this key and
// lower keys of its run.
func (r *Records) Pass(k Key) {
	of := r.at(k)
	of.next = max(of.next, k.Seq+1)
}

func (r *Records) at(k Key) *run {
	if of := k.run(); r.last == nil || r.of != of {
		r.last, r.of = r.runs[of], of
		if r.last == nil {
			r.last = &run{}
			r.runs[of] = r.last
		}
	}
	return r.last
}

func (r *Records) find(k Key) (*run, *slot) {
	if of := k.run(); r.last == nil || r.of != of {
		found := r.runs[of]
		if found == nil {
			return nil, nil
		}
		r.last, r.of = found, of
	}
	return r.last, r.last.find(k.Seq)
}

// Has reports whether a record exists.
func (r *Records) Has(k Key) bool {
	_, s := r.find(k)
	return s != nil
}

// Get returns the value of a record. The caller must not change the value. It remains valid after
// the record has ended.
func (r *Records) Get(k Key) (value []byte, found bool) {
	_, s := r.find(k)
	if s == nil {
		return nil, false
	}
	return s.value(), true
}

// First returns the key of the first record in the run of from whose key is not below from.
func (r *Records) First(from Key) (first Key, found bool) {
	of := r.runs[from.run()]
	if of == nil || of.live == 0 {
		return first, false
	}
	slots := of.slots[of.head:]
	i := sort.Search(len(slots), func(i int) bool { return slots[i].seq >= from.Seq })
	for ; i < len(slots); i++ {
		if slots[i].part != nil {
			from.Seq = slots[i].seq
			return from, true
		}
	}
	return first, false
}

// Drop ends a record and reports whether it existed.
func (r *Records) Drop(k Key) bool {
	of, s := r.find(k)
	if s == nil {
		return false
	}
	r.end(of, s)
	r.shiftEnded()
	return true
}

// shiftEnded removes the oldest parts as long as all of their records have ended. If there are many
// such parts between parts with records, it removes these too.
func (r *Records) shiftEnded() {
	for r.head < len(r.parts) && r.parts[r.head].live == 0 {
		r.shift()
	}
	if r.ended > endedPartsMax && r.ended > (len(r.parts)-r.head)/2 {
		kept := slices.DeleteFunc(r.parts[r.head:], func(p *part) bool { return p.live == 0 })
		n := copy(r.parts, kept)
		clear(r.parts[n : r.head+len(kept)])
		r.parts, r.head, r.ended = r.parts[:n], 0, 0
	}
}

func (r *Records) end(of *run, s *slot) {
	p := s.part
	s.part = nil
	r.live--
	of.ended()
	if p.live--; p.live == 0 {
		r.bytes -= int64(len(p.buf))
		r.ended++
		p.buf = nil
	}
}

func (r *Records) shift() {
	r.ended--
	r.parts[r.head] = nil
	r.head++
	if r.head == len(r.parts) {
		r.parts, r.head = r.parts[:0], 0
	} else if r.head > 1024 && r.head > len(r.parts)/2 {
		n := copy(r.parts, r.parts[r.head:])
		clear(r.parts[n:])
		r.parts, r.head = r.parts[:n], 0
	}
}

// Retire ends the oldest records, one whole commit at a time, until all records of commits up to
// upTo have ended or it has ended about bytesMax bytes of records. It calls store for each record,
// in the order in which they were added.
func (r *Records) Retire(upTo uint64, bytesMax int64, store func(k Key, value []byte)) {
	for retired := int64(0); r.head < len(r.parts) && r.parts[r.head].number <= upTo && retired < bytesMax; {
		p := r.parts[r.head]
		if p.live > 0 {
			buf := p.buf
			_ = r.each(buf, func(k Key, at, n int) { // cannot fail, because buf was decoded before
				if of, s := r.find(k); s != nil && s.part == p {
					store(k, buf[at:at+n])
					retired += int64(n)
					r.end(of, s)
				}
			})
		}
		r.shift()
	}
	r.shiftEnded()
}

// Trim removes the runs of a prefix that contain no records, if there are many runs. Keys in the
// removed runs may then be added again, in any order.
func (r *Records) Trim(prefix byte) {
	if len(r.runs) <= emptyRunsMax {
		return
	}
	for of, run := range r.runs {
		if of.Prefix == prefix && run.live == 0 {
			delete(r.runs, of)
		}
	}
	r.last = nil
}

const (
	// endedPartsMax is the number of parts without records up to which shiftEnded leaves them
	// between other parts.
	endedPartsMax = 1024
	// emptyRunsMax is the number of runs above which Trim removes empty runs.
	emptyRunsMax = 1024
	// emptySlotsMax is the maximum capacity of slots that a run without records retains.
	emptySlotsMax = 4096
)

// Record is a record and its key.
type Record struct {
	Key   Key
	Value []byte
}

// Range returns the records with keys in [from, before), in the order of their keys.
func (r *Records) Range(from, before Key) (out []Record) {
	var runs []Key
	for of, run := range r.runs {
		last := of
		last.Seq = math.MaxUint64
		if run.live > 0 && last.Compare(from) >= 0 && of.Compare(before) < 0 {
			runs = append(runs, of)
		}
	}
	slices.SortFunc(runs, Key.Compare)
	for _, of := range runs {
		run := r.runs[of]
		i := run.head
		if of == from.run() {
			i += sort.Search(len(run.slots)-i, func(i int) bool { return run.slots[run.head+i].seq >= from.Seq })
		}
		for ; i < len(run.slots); i++ {
			k, s := of, &run.slots[i]
			if k.Seq = s.seq; k.Compare(before) >= 0 {
				break
			}
			if s.part != nil {
				out = append(out, Record{k, s.value()})
			}
		}
	}
	return out
}

func (s *slot) value() []byte {
	end := s.at + s.n
	return s.part.buf[s.at:end:end]
}

// push appends a slot. If slots is full and at least half of the slots have ended, push first
// removes the ended slots.
func (r *run) push(s slot) {
	if len(r.slots) == cap(r.slots) && r.live <= len(r.slots)/2 {
		kept := r.slots[:0]
		for i := r.head; i < len(r.slots); i++ {
			if r.slots[i].part != nil {
				kept = append(kept, r.slots[i])
			}
		}
		clear(r.slots[len(kept):])
		r.slots, r.head = kept, 0
	}
	r.slots = append(r.slots, s)
	r.next = s.seq + 1
	r.live++
}

// find returns the slot of a seq, or nil. It first tries the position that the seq would have
// without gaps, because most runs have no gaps.
func (r *run) find(seq uint64) *slot {
	if r.live == 0 {
		return nil
	}
	slots := r.slots[r.head:]
	if seq < slots[0].seq {
		return nil
	}
	i := int(min(seq-slots[0].seq, uint64(len(slots)-1)))
	if slots[i].seq != seq {
		i = sort.Search(i+1, func(i int) bool { return slots[i].seq >= seq })
		if i == len(slots) || slots[i].seq != seq {
			return nil
		}
	}
	if slots[i].part == nil {
		return nil
	}
	return &slots[i]
}

func (r *run) ended() {
	if r.live--; r.live == 0 {
		r.slots, r.head = r.slots[:0], 0
		if cap(r.slots) > emptySlotsMax {
			r.slots = nil
		}
		return
	}
	for r.slots[r.head].part == nil {
		r.head++
	}
}
