package record

import (
	"encoding/binary"
	"fmt"
)

// Floor says which records are in the log only.
type Floor struct {
	Commit uint64 // the records of this commit, and of earlier ones, have ended or are stored under their keys
	More   bool   // later commits may have records that are in the log only
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

// DecodeFloor decodes what EncodeFloor encoded.
func DecodeFloor(b []byte) (f Floor, err error) {
	d := decode(b)
	if d.Err == nil && (len(d.Rest) != 8+1 || d.Rest[8] > 1) {
		d.Fail(fmt.Errorf("a floor is %x, not 8 bytes and then 0 or 1", d.Rest))
	}
	if d.Err != nil {
		return f, d.Err
	}
	return Floor{binary.BigEndian.Uint64(d.Rest), d.Rest[8] == 1}, nil
}
