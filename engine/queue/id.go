package queue

import "fmt"

// MaxPriority is the most urgent priority; 0 is the least urgent and the default.
const MaxPriority = 9

// Ref identifies a task within its shard.
type Ref struct {
	Queue    uint32
	Priority uint8
	Seq      uint64
}

// Shifted returns the priority in the ref plus a difference.
func (r Ref) Shifted(by int8) uint8 { return r.Priority + uint8(by) }

// ID identifies a task in the whole system. It contains the task's shard and key, so a lookup needs
// no index.
type ID struct {
	Shard uint16
	Ref
}

// IDLen is the length of an ID as text.
const IDLen = 24

// The text of an ID is its bytes in base32 with Crockford's alphabet in lower case: no letter looks
// like a digit, and texts sort in the order of the bytes. The bytes are
//
//	shard (2) │ queue (4) │ priority (1) │ seq (8), big-endian
//
// which are 120 bits: 12 characters for the first half and 12 for the second. The first half of all
// ids of a lane is the same, except for the 4 high bits of seq.
const (
	idAlphabet = "0123456789abcdefghjkmnpqrstvwxyz"
	idHalf     = IDLen / 2
	idHalfBits = 5 * idHalf
	idCharBits = 5
	idHalfMask = 1<<idHalfBits - 1
	idSeqBits  = 64 - idHalfBits // bits of seq in the first half
)

// idValues contains the value of each valid character of an id. For other characters it contains
// idNone.
var idValues = func() (values [256]uint8) {
	for i := range values {
		values[i] = idNone
	}
	for i := range len(idAlphabet) {
		values[idAlphabet[i]] = uint8(i)
	}
	return values
}()

const idNone = 0xff

func (id ID) halves() (first, second uint64) {
	first = uint64(id.Shard)<<44 | uint64(id.Queue)<<12 | uint64(id.Priority)<<idSeqBits | id.Seq>>idHalfBits
	return first, id.Seq & idHalfMask
}

func putIDHalf(text *[idHalf]byte, half uint64) {
	for i := idHalf - 1; i >= 0; i-- {
		text[i] = idAlphabet[half%(1<<idCharBits)]
		half >>= idCharBits
	}
}

// IDTexts writes the texts of a series of ids. If consecutive ids have the same first half, it
// encodes that half only once. The zero value is ready for use.
type IDTexts struct {
	first uint64
	text  [idHalf]byte // the encoded first, valid if any is true
	any   bool         // text is set
}

// Append appends the text of an id, IDLen characters, to b.
func (t *IDTexts) Append(b []byte, id ID) []byte {
	first, second := id.halves()
	if first != t.first || !t.any {
		t.first, t.any = first, true
		putIDHalf(&t.text, first)
	}
	b = append(b, t.text[:]...)
	var text [idHalf]byte
	putIDHalf(&text, second)
	return append(b, text[:]...)
}

// AppendText appends the ID's text, IDLen characters, to b.
func (id ID) AppendText(b []byte) []byte {
	var t IDTexts
	return t.Append(b, id)
}

// String returns the ID's text.
func (id ID) String() string {
	return string(id.AppendText(make([]byte, 0, IDLen)))
}

// ParseID reads the text of an ID.
func ParseID(text string) (ID, error) {
	if len(text) != IDLen {
		return ID{}, fmt.Errorf("%.40q has %d characters, not %d: pass an id as the server gave it", text, len(text), IDLen)
	}
	first, ok := idHalfOf(text[:idHalf])
	second, also := idHalfOf(text[idHalf:])
	id := ID{
		Shard: uint16(first >> 44),
		Ref: Ref{
			Queue:    uint32(first >> 12),
			Priority: uint8(first >> idSeqBits),
			Seq:      first<<idHalfBits | second,
		},
	}
	if !ok || !also || id.Priority > MaxPriority {
		return ID{}, fmt.Errorf("%q is malformed: pass an id as the server gave it", text)
	}
	return id, nil
}

// idHalfOf returns the value of one half of an id's text, and whether all of its characters are
// valid.
func idHalfOf(text string) (half uint64, ok bool) {
	seen := uint8(0) // 1<<idCharBits or more if any character is invalid
	for i := range len(text) {
		v := idValues[text[i]]
		seen |= v
		half = half<<idCharBits | uint64(v%(1<<idCharBits))
	}
	return half, seen < 1<<idCharBits
}
