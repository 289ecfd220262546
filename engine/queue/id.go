package queue

import (
	"encoding/base32"
	"encoding/binary"
	"fmt"
)

// MaxPriority is the most urgent priority; 0 is the least urgent and the default.
const MaxPriority = 9

// Ref names a task within its shard.
type Ref struct {
	Queue    uint32
	Priority uint8
	Seq      uint64
}

// ID names a task anywhere: it says which shard holds it and under which key, so that a look-up
// needs no index.
type ID struct {
	Shard uint16
	Ref
}

// IDLen is the length of an ID as text.
const IDLen = 24

const idBytes = 15

// The text is Crockford's alphabet in lower case: no letter is mistaken for a digit, and the text
// sorts as the bytes do.
var idText = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// AppendText appends the ID's text, IDLen characters, to b.
func (id ID) AppendText(b []byte) []byte {
	// shard (2) | queue (4) | priority (1) | seq (8), big-endian
	var raw [idBytes]byte
	binary.BigEndian.PutUint16(raw[0:], id.Shard)
	binary.BigEndian.PutUint32(raw[2:], id.Queue)
	raw[6] = id.Priority
	binary.BigEndian.PutUint64(raw[7:], id.Seq)
	return idText.AppendEncode(b, raw[:])
}

// String returns the ID's text.
func (id ID) String() string {
	return string(id.AppendText(make([]byte, 0, IDLen)))
}

// ParseID reads the text of an ID.
func ParseID(text string) (ID, error) {
	var raw [idBytes]byte
	if len(text) != IDLen {
		return ID{}, fmt.Errorf("id %.40q has %d characters, not %d: pass an id as the server gave it", text, len(text), IDLen)
	}
	var src [IDLen]byte
	copy(src[:], text)
	// Decode skips line breaks: a text with one gives fewer bytes.
	if n, err := idText.Decode(raw[:], src[:]); err != nil || n != idBytes {
		return ID{}, fmt.Errorf("id %q is malformed: pass an id as the server gave it", text)
	}
	id := ID{
		Shard: binary.BigEndian.Uint16(raw[0:]),
		Ref: Ref{
			Queue:    binary.BigEndian.Uint32(raw[2:]),
			Priority: raw[6],
			Seq:      binary.BigEndian.Uint64(raw[7:]),
		},
	}
	if id.Priority > MaxPriority {
		return ID{}, fmt.Errorf("id %q is malformed: pass an id as the server gave it", text)
	}
	return id, nil
}
