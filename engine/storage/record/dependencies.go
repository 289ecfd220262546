package record

import (
	"encoding/binary"
	"fmt"

	"github.com/pronybench/prony/engine/queue"
)

// idLen is the length of an id in a key or a record.
const idLen = 2 + (RefKeyLen - 1)

// The flags of the dependencies of a task.
const (
	flagWaits = 1 << iota
	flagInBatch
)

func (e *Encoder) depends(x *queue.Depends) {
	var flags uint64
	if x.Waits {
		flags |= flagWaits
	}
	if x.InBatch {
		flags |= flagInBatch
	}
	if e.uint(flags); x.InBatch {
		e.b = appendID(e.b, x.Batch)
	}
}

func (d decoder) depends() *queue.Depends {
	flags := d.UpTo(flagWaits | flagInBatch)
	x := &queue.Depends{Waits: flags&flagWaits != 0, InBatch: flags&flagInBatch != 0}
	if x.InBatch {
		x.Batch = d.id()
	}
	return x
}

func appendID(b []byte, id queue.ID) []byte {
	b = binary.BigEndian.AppendUint16(b, id.Shard)
	b = append(binary.BigEndian.AppendUint32(b, id.Queue), id.Priority)
	return binary.BigEndian.AppendUint64(b, id.Seq)
}

func idOf(b []byte) queue.ID {
	return queue.ID{Shard: binary.BigEndian.Uint16(b), Ref: queue.Ref{
		Queue: binary.BigEndian.Uint32(b[2:]), Priority: b[6], Seq: binary.BigEndian.Uint64(b[7:]),
	}}
}

func (d decoder) id() queue.ID {
	var b [idLen]byte
	d.Fill(b[:])
	id := idOf(b[:])
	if id.Priority > queue.MaxPriority {
		d.Fail(fmt.Errorf("priority %d is out of range", id.Priority))
	}
	return id
}

// PairKey returns the key of a prefix, a task and the id of another task.
func PairKey(prefix byte, ref queue.Ref, of queue.ID) []byte {
	k := make([]byte, RefKeyLen, RefKeyLen+idLen)
	PutRefKey(k, prefix, ref)
	return appendID(k, of)
}

// ParsePairKey returns the ref and the id of a key from PairKey. pair is false for a key from RefKey.
func ParsePairKey(k []byte) (ref queue.Ref, of queue.ID, pair bool, err error) {
	if len(k) != RefKeyLen && len(k) != RefKeyLen+idLen {
		return ref, of, false, fmt.Errorf("key %x has %d bytes, expected %d or %d", k, len(k), RefKeyLen, RefKeyLen+idLen)
	}
	if ref, err = ParseRefKey(k[:RefKeyLen]); len(k) > RefKeyLen {
		of, pair = idOf(k[RefKeyLen:]), true
	}
	return ref, of, pair, err
}

// MessageKey returns the key of a message.
func MessageKey(to uint16, seq uint64) []byte {
	return binary.BigEndian.AppendUint64(MessagePrefix(to), seq)
}

// MessagePrefix returns the common prefix of the keys of all messages to a shard.
func MessagePrefix(to uint16) []byte {
	return binary.BigEndian.AppendUint16([]byte{PrefixMessage}, to)
}

// ParseMessageKey returns the shard and the seq of a key from MessageKey.
func ParseMessageKey(k []byte) (to uint16, seq uint64, err error) {
	if len(k) != 1+2+8 {
		return 0, 0, fmt.Errorf("key %x of a message has %d bytes, expected %d", k, len(k), 1+2+8)
	}
	return binary.BigEndian.Uint16(k[1:]), binary.BigEndian.Uint64(k[1+2:]), nil
}

// EncodeWaiting encodes what a task waits for:
//
//	format | after | members | total | recorded | dead dependency | bytes
func EncodeWaiting(e *Encoder, w queue.Waiting) {
	e.start()
	e.b[0] = formatDepends
	for _, n := range [...]uint32{w.After, w.Members, w.Total, w.Recorded} {
		e.uint(uint64(n))
	}
	e.uint(uint64(w.Dead))
	e.uint(w.Bytes)
}

// DecodeWaiting decodes what a task waits for.
func DecodeWaiting(b []byte) (queue.Waiting, error) {
	d := decode(b)
	w := queue.Waiting{
		After: d.Uint32(), Members: d.Uint32(), Total: d.Uint32(), Recorded: d.Uint32(),
		Dead: queue.DeadDependency(d.UpTo(uint64(queue.DieToo))), Bytes: d.Uint(),
	}
	return w, d.End()
}

// EncodeDependency encodes a finished task that another task waited for. Its id is in the key:
//
//	format | outcome | omitted | result
func EncodeDependency(e *Encoder, x *queue.Dependency) {
	e.start()
	e.b[0] = formatDepends
	e.uint(uint64(x.Outcome))
	e.bool(x.Omitted)
	e.b = append(e.b, x.Result...)
}

// DecodeDependency decodes a finished task that another task waited for. It copies the result.
func DecodeDependency(of queue.ID, b []byte) (queue.Dependency, error) {
	d := decode(b)
	x := queue.Dependency{ID: of, Outcome: d.outcome(), Omitted: d.Bool()}
	x.Result = d.rest()
	return x, d.Err
}

func (d decoder) outcome() queue.DependencyOutcome {
	return queue.DependencyOutcome(d.UpTo(uint64(queue.DependencyRefused)))
}

func (d decoder) rest() []byte {
	if d.Err != nil || len(d.Rest) == 0 {
		return nil
	}
	return append([]byte(nil), d.Rest...)
}

// EncodeLinked encodes the number of links of a task:
//
//	format | links
func EncodeLinked(e *Encoder, links uint32) {
	e.start()
	e.b[0] = formatDepends
	e.uint(uint64(links))
}

// DecodeLinked decodes the number of links of a task.
func DecodeLinked(b []byte) (links uint32, err error) {
	d := decode(b)
	links = d.Uint32()
	return links, d.End()
}

// EncodeLink encodes a link, which has no fields besides those in its key.
func EncodeLink(e *Encoder) {
	e.start()
	e.b[0] = formatDepends
}

// DecodeLink checks a link.
func DecodeLink(b []byte) error {
	d := decode(b)
	return d.End()
}

// EncodeMessage encodes a message, including its seq, so that it can be sent as it is:
//
//	format | seq | kind | queue | priority | task seq | tenant | of: 15 bytes | begun | outcome | omitted | result
func EncodeMessage(e *Encoder, m *queue.Message) {
	e.start()
	e.b[0] = formatDepends
	e.uint(m.Seq)
	e.uint(uint64(m.Kind))
	e.uint(uint64(m.Ref.Queue))
	e.uint(uint64(m.Ref.Priority))
	e.uint(m.Ref.Seq)
	e.text(m.Tenant)
	e.b = appendID(e.b, m.Of)
	e.bool(m.Begun)
	e.uint(uint64(m.Outcome))
	e.bool(m.Omitted)
	e.b = append(e.b, m.Result...)
}

// DecodeMessage decodes a message. It copies the result.
func DecodeMessage(b []byte) (queue.Message, error) {
	d := decode(b)
	m := queue.Message{
		Seq: d.Uint(), Kind: queue.MessageKind(d.UpTo(uint64(queue.DroppedTask))),
		Ref: queue.Ref{Queue: d.Uint32(), Priority: d.priority(), Seq: d.Uint()}, Tenant: d.Text(), Of: d.id(),
		Begun: d.Bool(), Outcome: d.outcome(), Omitted: d.Bool(),
	}
	m.Result = d.rest()
	if d.Err == nil && m.Kind == 0 {
		d.Fail(fmt.Errorf("a message of kind 0 is out of range"))
	}
	return m, d.Err
}
