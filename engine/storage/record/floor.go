package record

import (
	"encoding/binary"
	"fmt"
)

// Floor states which records may be in the log only.
type Floor struct {
	// Commit is the number of a commit. All records of this and earlier commits are removed or
	// stored under their keys.
	Commit uint64
	More   bool // records of later commits may be in the log only
}

// EncodeFloor encodes a floor:
//
//	format | commit: 8 bytes, big-endian | more: 0 or 1
func EncodeFloor(f Floor) []byte {
	b := binary.BigEndian.AppendUint64([]byte{Format}, f.Commit)
	if f.More {
		return append(b, 1)
	}
	return append(b, 0)
}

// DecodeFloor decodes a floor.
func DecodeFloor(b []byte) (f Floor, err error) {
	d := decode(b)
	if d.Err == nil && (len(d.Rest) != 8+1 || d.Rest[8] > 1) {
		d.Fail(fmt.Errorf("floor %x: expected 8 bytes followed by 0 or 1", d.Rest))
	}
	if d.Err != nil {
		return f, d.Err
	}
	return Floor{binary.BigEndian.Uint64(d.Rest), d.Rest[8] == 1}, nil
}
