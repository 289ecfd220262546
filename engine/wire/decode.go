package wire

import (
	"unicode/utf8"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// The functions below, and those in produce.go and work.go, decode messages from a peer of this
// version. Such messages contain only known fields, which are integers or length-delimited. The
// numbers of all but a few rare ones are at most 15, so that their tag is one byte. For any other
// message the functions return false and leave the message partially filled; gRPC's codec then
// decodes the message.

// The low three bits of a tag are the field's type.
const (
	integerType = byte(protowire.VarintType)
	bytesType   = byte(protowire.BytesType)
	typeBits    = 7
)

// merge decodes messages that are nested in hot messages and are rare.
var merge = proto.UnmarshalOptions{Merge: true}

// varint returns the integer at b[i:] and the offset of its end. next is negative if there is no
// valid integer.
func varint(b []byte, i int) (v uint64, next int) {
	if i < len(b) && b[i] < 0x80 {
		return uint64(b[i]), i + 1
	}
	return longVarint(b, i)
}

func longVarint(b []byte, i int) (v uint64, next int) {
	if i >= len(b) {
		return 0, -1
	}
	v, n := protowire.ConsumeVarint(b[i:])
	if n < 0 {
		return 0, -1
	}
	return v, i + n
}

// text returns a string that shares the memory of b, and reports whether it is UTF-8.
func text(b []byte) (string, bool) {
	return unsafe.String(unsafe.SliceData(b), len(b)), utf8.Valid(b)
}

// read reads the field at b[i:]. tag is the encoded number and type. For an integer, v is its
// value. For any other field, v is the length of its bytes, which end at next. next is the offset
// of the next field; it is negative if the field is invalid.
func read(b []byte, i int) (tag byte, v uint64, next int) {
	tag = b[i]
	if i+1 < len(b) && b[i+1] < 0x80 {
		v, next = uint64(b[i+1]), i+2
	} else if v, next = longVarint(b, i+1); next < 0 {
		return tag, 0, -1
	}
	switch tag & (typeBits | 0x80) {
	case integerType:
		return tag, v, next
	case bytesType:
		if v <= uint64(len(b)-next) {
			return tag, v, next + int(v)
		}
	}
	return tag, 0, -1
}

// readRare reads the field at b[i:], whose tag may have more than one byte. v and next are as in
// read.
func readRare(b []byte, i int) (number protowire.Number, kind protowire.Type, v uint64, next int) {
	number, kind, n := protowire.ConsumeTag(b[i:])
	if n < 0 {
		return 0, 0, 0, -1
	}
	if v, next = longVarint(b, i+n); next < 0 {
		return 0, 0, 0, -1
	}
	switch kind {
	case protowire.VarintType:
		return number, kind, v, next
	case protowire.BytesType:
		if v <= uint64(len(b)-next) {
			return number, kind, v, next + int(v)
		}
	}
	return 0, 0, 0, -1
}

// decodeHeader decodes an entry of a map of headers and adds it to the map.
func decodeHeader(b []byte, into *map[string]string) (ok bool) {
	var key, value string
	for i := 0; i < len(b); {
		tag, v, next := read(b, i)
		if next < 0 {
			return false
		}
		switch tag {
		case 1<<3 | bytesType:
			key, ok = text(b[next-int(v) : next : next])
		case 2<<3 | bytesType:
			value, ok = text(b[next-int(v) : next : next])
		default:
			ok = false
		}
		if !ok {
			return false
		}
		i = next
	}
	if *into == nil {
		*into = map[string]string{}
	}
	(*into)[key] = value
	return true
}

// count returns the number of fields of a message with the given tag. ok is false if a field is
// invalid.
func count(b []byte, tag byte) (n int, ok bool) {
	for i := 0; i < len(b); {
		t, _, next := read(b, i)
		if next < 0 {
			return 0, false
		}
		if t == tag {
			n++
		}
		i = next
	}
	return n, true
}

// group copies elements of a message into separate memory. Each allocation contains as many
// elements as fit into bytesMax bytes, but at least one.
type group struct {
	bytesMax int
	copied   []byte
	from     int // offset of copied in the message
}

// element returns the copy of the element b[start:end]. All fields of b must be valid.
func (g *group) element(b []byte, start, end int) []byte {
	if end > g.from+len(g.copied) || start < g.from {
		to := end
		for i := end; i < len(b); {
			_, _, next := read(b, i)
			if next-start > g.bytesMax {
				break
			}
			i, to = next, next
		}
		g.from, g.copied = start, append([]byte(nil), b[start:to]...)
	}
	return g.copied[start-g.from : end-g.from : end-g.from]
}
