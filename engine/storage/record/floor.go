package record

import (
	"encoding/binary"
	"fmt"
)

// EncodeFloor encodes up to which commit no record is in the log only:
//
//	format | commit: 8 bytes, big-endian
func EncodeFloor(commit uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{Format}, commit)
}

// DecodeFloor decodes what EncodeFloor encoded.
func DecodeFloor(b []byte) (commit uint64, err error) {
	d := decode(b)
	if d.Err == nil && len(d.Rest) != 8 {
		d.Fail(fmt.Errorf("a floor has %d bytes, not 8", len(d.Rest)))
	}
	if d.Err != nil {
		return 0, d.Err
	}
	return binary.BigEndian.Uint64(d.Rest), nil
}
