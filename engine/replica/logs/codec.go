package logs

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"time"

	"github.com/hashicorp/raft"
)

// format is the first byte of every record. Reading a record with another first byte fails.
const format = 1

// entryHeaderLen is the length in bytes of the part of an entry's record before the length of the
// extensions.
const entryHeaderLen = 1 + 1 + 8 + 8 + 4

func entryLen(l *raft.Log) int {
	n := len(l.Extensions)
	return entryHeaderLen + uvarintLen(uint64(n)) + n + len(l.Data)
}

func uvarintLen(v uint64) int { return (bits.Len64(v|1) + 6) / 7 }

// putEntry writes an entry's record to b, whose length must be entryLen(l).
func putEntry(b []byte, l *raft.Log) {
	b[0], b[1] = format, byte(l.Type)
	binary.BigEndian.PutUint64(b[2:], l.Term)
	binary.BigEndian.PutUint64(b[10:], uint64(l.AppendedAt.Unix()))
	binary.BigEndian.PutUint32(b[18:], uint32(l.AppendedAt.Nanosecond()))
	at := entryHeaderLen
	at += binary.PutUvarint(b[at:], uint64(len(l.Extensions)))
	at += copy(b[at:], l.Extensions)
	copy(b[at:], l.Data)
}

// readEntry decodes the record of the entry with the given index. The decoded entry retains b.
func readEntry(b []byte, index uint64, l *raft.Log) error {
	if err := checkFormat(b); err != nil {
		return err
	}
	if len(b) < entryHeaderLen {
		return errCutShort
	}
	nanoseconds := binary.BigEndian.Uint32(b[18:])
	if nanoseconds >= uint32(time.Second) {
		return fmt.Errorf("the record's time has %d ns: expected less than a second", nanoseconds)
	}
	size, n := binary.Uvarint(b[entryHeaderLen:])
	if n <= 0 || n != uvarintLen(size) {
		return errCutShort
	}
	rest := b[entryHeaderLen+n:]
	if size > uint64(len(rest)) {
		return errCutShort
	}
	*l = raft.Log{
		Index: index, Type: raft.LogType(b[1]), Term: binary.BigEndian.Uint64(b[2:]),
		AppendedAt: time.Unix(int64(binary.BigEndian.Uint64(b[10:])), int64(nanoseconds)).UTC(),
	}
	if size > 0 {
		l.Extensions = rest[:size:size]
	}
	if data := rest[size:]; len(data) > 0 {
		l.Data = data
	}
	return nil
}

func checkFormat(b []byte) error {
	if len(b) == 0 {
		return errCutShort
	}
	if b[0] != format {
		return fmt.Errorf("the record has format %d, this server reads format %d: use the server that wrote it, or a newer one", b[0], format)
	}
	return nil
}

// A record of the stable store is the format byte followed by the value.

func text(value []byte) []byte { return append([]byte{format}, value...) }

func number(value uint64) []byte { return binary.BigEndian.AppendUint64([]byte{format}, value) }

func readText(b []byte) ([]byte, error) {
	if err := checkFormat(b); err != nil {
		return nil, err
	}
	return b[1:], nil
}

func readNumber(b []byte) (uint64, error) {
	if err := checkFormat(b); err != nil {
		return 0, err
	}
	if len(b) != 1+8 {
		return 0, fmt.Errorf("the record of a number has %d bytes, not 9", len(b))
	}
	return binary.BigEndian.Uint64(b[1:]), nil
}
