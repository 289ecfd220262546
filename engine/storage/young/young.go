// Package young keeps in memory the records that are in a store's log, but are not stored under
// their keys. Most tasks and leases exist for milliseconds only, so their records never need to be
// written to a table.
//
// # Usage
//
// A commit collects its records in a Puts and adds them with Records.Add, which assigns a number to
// the commit. Drop ends a record. Retire also ends records, and passes them to the caller, which
// must store them. Floor returns the number of the commit up to which all records have ended:
//
//	var puts young.Puts
//	puts.Add(young.Key{Prefix: 't', Queue: 1, Seq: 7}, value)
//	encoded := records.Add(&puts)      // for the log
//	value, found := records.Get(key)
//	found = records.Drop(key)          // Drops encodes it for the log
//	records.Retire(upTo, most, store)  // oldest first
//	err := young.Decode(logged, visitor)
//
// If records are parts of the caller's buffer, such as an entry of a Raft log, they are added with
// Begin and Put; see NewIn.
//
// Saved contains the records that a new process found in the logs of a store.
//
// # Memory
//
// The records of one commit share one buffer, which is freed when the last of these records ends.
// Bytes returns the total size of the buffers.
//
// # Concurrency
//
// Nothing in this package is safe for concurrent use. The store's lock guards it.
package young

import (
	"cmp"
	"encoding/binary"
	"fmt"
)

// Key is the key of a record. Records with the same Prefix, Queue and Priority form a run. The
// records of a run are added in the order of Seq.
type Key struct {
	Prefix   byte
	Queue    uint32
	Priority uint8
	Seq      uint64
}

func (k Key) run() Key { k.Seq = 0; return k }

// Compare orders keys by Prefix, Queue, Priority and Seq.
func (k Key) Compare(o Key) int {
	return cmp.Or(cmp.Compare(k.Prefix, o.Prefix), cmp.Compare(k.Queue, o.Queue), cmp.Compare(k.Priority, o.Priority), cmp.Compare(k.Seq, o.Seq))
}

// The records of a commit, and the keys that it drops, are logged as
//
//	format 1 byte │ kind 1 │ number 8 │ key │ length │ value │ key │ length │ value │ …        kindPuts
//	format 1 byte │ kind 1 │ key │ key │ …                                                     kindDrops
//
// with the number in big-endian order, and lengths as uvarints. A key is
//
//	0 │ seq minus the previous key's seq: varint                                        a key of the previous key's run
//	1 │ prefix 1 byte │ queue: uvarint │ priority 1 byte │ seq: uvarint
const (
	format    = 1
	kindPuts  = 1
	kindDrops = 2
	headPuts  = 2 + 8
	headDrops = 2
	sameRun   = 0
	newRun    = 1
	// headMax is the maximum size of an encoded key plus the encoded length that follows it.
	headMax = 3 + binary.MaxVarintLen32 + 2*binary.MaxVarintLen64
)

type keys struct {
	last Key
	any  bool
}

func (e *keys) append(b []byte, k Key) []byte {
	if e.any && k.run() == e.last.run() {
		b = binary.AppendVarint(append(b, sameRun), int64(k.Seq-e.last.Seq))
	} else {
		b = binary.AppendUvarint(append(b, newRun, k.Prefix), uint64(k.Queue))
		b = binary.AppendUvarint(append(b, k.Priority), k.Seq)
	}
	e.last, e.any = k, true
	return b
}

func (e *keys) decode(b []byte) (k Key, rest []byte, err error) {
	n := 0
	switch {
	case len(b) >= 1 && b[0] == sameRun && e.any:
		var delta int64
		k = e.last
		delta, n = binary.Varint(b[1:])
		k.Seq += uint64(delta)
		b = b[1:]
	case len(b) >= 2 && b[0] == newRun:
		k.Prefix = b[1]
		q, m := binary.Uvarint(b[2:])
		if m <= 0 || q > 1<<32-1 || len(b) < 2+m+1 {
			return k, nil, errTruncated
		}
		k.Queue, k.Priority = uint32(q), b[2+m]
		b = b[2+m+1:]
		k.Seq, n = binary.Uvarint(b)
	}
	if n <= 0 {
		return k, nil, errTruncated
	}
	e.last, e.any = k, true
	return k, b[n:], nil
}

var errTruncated = fmt.Errorf("a key or a value is cut off")

// Puts collects the new records of one commit.
type Puts struct {
	buf   []byte
	keys  keys
	items []item
	large int // expected size, in bytes, of the next commit that is larger than keptBytesMax
	// kept is the buffer for small commits, at most keptBytesMax, while a large commit uses another
	// buffer.
	kept []byte
}

type item struct {
	key   Key
	at, n uint32
}

// Add adds a record. It copies the value.
func (p *Puts) Add(k Key, value []byte) {
	if len(p.items) == 0 {
		p.buf = append(p.buf[:0], format, kindPuts, 0, 0, 0, 0, 0, 0, 0, 0)
		p.keys = keys{}
	}
	p.grow(len(value) + headMax)
	p.buf = p.keys.append(p.buf, k)
	p.buf = binary.AppendUvarint(p.buf, uint64(len(value)))
	p.items = append(p.items, item{k, uint32(len(p.buf)), uint32(len(value))})
	p.buf = append(p.buf, value...)
}

// grow makes room for n more bytes. Large commits often follow each other. Each starts in the
// buffer for small commits, and then moves directly to a buffer as large as recent large commits
// needed. Growing the buffer by repeated appends would allocate and copy several times that size.
func (p *Puts) grow(n int) {
	need := len(p.buf) + n
	if need <= cap(p.buf) {
		return
	}
	size := min(max(need, 2*cap(p.buf)), keptBytesMax)
	if need > keptBytesMax {
		if size = p.large; need > size {
			size = need + need/2
		}
		if cap(p.buf) <= keptBytesMax {
			p.kept = p.buf
		}
	}
	p.buf = append(make([]byte, 0, size), p.buf...)
}

// Len returns the number of records.
func (p *Puts) Len() int { return len(p.items) }

// Bytes returns the size of the encoded records in bytes.
func (p *Puts) Bytes() int {
	if len(p.items) == 0 {
		return 0
	}
	return len(p.buf)
}

// Reset removes the records.
func (p *Puts) Reset() {
	p.items = p.items[:0]
	if cap(p.buf) > keptBytesMax {
		// Use a decaying maximum, because the sizes of commits vary.
		p.large = max(len(p.buf)+headMax, p.large-p.large/8)
		p.buf, p.items = p.kept, nil
	}
}

// keptBytesMax is the maximum size, in bytes, of a buffer that is retained for later commits.
const keptBytesMax = 1 << 20

// Each calls visit for each record, in the order of Add. The value is valid until the next Add.
func (p *Puts) Each(visit func(k Key, value []byte)) {
	for _, i := range p.items {
		visit(i.key, p.buf[i.at:i.at+i.n])
	}
}

// eachPut calls visit for each record in buf, which Add has encoded, with the offset and length of
// the record's value.
func eachPut(buf []byte, visit func(k Key, at, n int)) error {
	e := keys{}
	for rest := buf[headPuts:]; len(rest) > 0; {
		k, after, err := e.decode(rest)
		if err != nil {
			return err
		}
		size, n := binary.Uvarint(after)
		if n <= 0 || size > uint64(len(after)-n) {
			return errTruncated
		}
		visit(k, len(buf)-len(after)+n, int(size))
		rest = after[n+int(size):]
	}
	return nil
}

// Drops collects the keys of records that a commit drops.
type Drops struct {
	buf  []byte
	keys keys
}

// Add adds a key.
func (d *Drops) Add(k Key) {
	if len(d.buf) == 0 {
		d.buf = append(d.buf, format, kindDrops)
		d.keys = keys{}
	}
	d.buf = d.keys.append(d.buf, k)
}

// Encoded returns the encoding of the keys for the log, or nil if there are no keys. The result is
// valid until the next call of Add or Reset.
func (d *Drops) Encoded() []byte {
	if len(d.buf) == 0 {
		return nil
	}
	return d.buf
}

// Reset removes the keys.
func (d *Drops) Reset() { d.buf = d.buf[:0] }

// Visitor receives the content of one entry of the log.
type Visitor struct {
	// Put receives a record and the number of its commit. The value is a subslice of the entry.
	Put func(number uint64, k Key, value []byte)
	// Drop receives the key of a record that was dropped.
	Drop func(k Key)
}

// Decode decodes an entry of the log.
func Decode(entry []byte, v Visitor) error {
	if len(entry) < headDrops {
		return fmt.Errorf("records in the log: %w", errTruncated)
	}
	if entry[0] != format {
		return fmt.Errorf("records in the log have format %d, this program reads format %d: use a newer one", entry[0], format)
	}
	var err error
	switch entry[1] {
	case kindPuts:
		if len(entry) < headPuts {
			return fmt.Errorf("records in the log: %w", errTruncated)
		}
		number := binary.BigEndian.Uint64(entry[2:])
		err = eachPut(entry, func(k Key, at, n int) { v.Put(number, k, entry[at:at+n]) })
	case kindDrops:
		e := keys{}
		for rest := entry[headDrops:]; len(rest) > 0 && err == nil; {
			var k Key
			if k, rest, err = e.decode(rest); err == nil {
				v.Drop(k)
			}
		}
	default:
		err = fmt.Errorf("kind %d is unknown", entry[1])
	}
	if err != nil {
		return fmt.Errorf("records in the log: %w", err)
	}
	return nil
}
