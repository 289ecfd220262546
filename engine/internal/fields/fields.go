// Package fields decodes the fields of stored records, one after the other.
package fields

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// ErrTruncated means that a record ends before its last field.
var ErrTruncated = errors.New("record is cut short")

// Decoder consumes fields from the front of Rest. The first error stays in Err; all later fields
// are zero.
type Decoder struct {
	Rest []byte
	Err  error
	// Format is the format of the record. The caller must not read fields that the format lacks.
	Format byte
}

// New returns a decoder of a record, whose first byte must be the given format.
func New(b []byte, format byte) *Decoder { return NewSince(b, format, format) }

// NewSince is New for records of several formats, from the oldest to the newest supported one.
func NewSince(b []byte, oldest, newest byte) *Decoder {
	switch {
	case len(b) == 0:
		return &Decoder{Err: ErrTruncated}
	case b[0] < oldest || b[0] > newest:
		reads := fmt.Sprintf("format %d", newest)
		if oldest < newest {
			reads = fmt.Sprintf("formats %d to %d", oldest, newest)
		}
		return &Decoder{Err: fmt.Errorf("record has format %d, this server reads %s: use the server that wrote it, or a newer one", b[0], reads)}
	}
	return &Decoder{Rest: b[1:], Format: b[0]}
}

// Fail records an error, unless there is an earlier one.
func (d *Decoder) Fail(err error) {
	if d.Err == nil {
		d.Rest, d.Err = nil, err
	}
}

func (d *Decoder) skip(n int) {
	if n <= 0 {
		d.Fail(ErrTruncated)
		return
	}
	d.Rest = d.Rest[n:]
}

// Uint reads an unsigned varint.
func (d *Decoder) Uint() uint64 {
	if d.Err != nil {
		return 0
	}
	v, n := binary.Uvarint(d.Rest)
	d.skip(n)
	return v
}

// UpTo reads an unsigned varint of at most the given number.
func (d *Decoder) UpTo(most uint64) uint64 {
	v := d.Uint()
	if v > most {
		d.Fail(fmt.Errorf("number %d is out of range", v))
	}
	return v
}

// Uint32 reads an unsigned varint of 32 bits.
func (d *Decoder) Uint32() uint32 { return uint32(d.UpTo(math.MaxUint32)) }

// Uint8 reads an unsigned varint of 8 bits.
func (d *Decoder) Uint8() uint8 { return uint8(d.UpTo(math.MaxUint8)) }

// Bool reads an unsigned varint; 0 is false.
func (d *Decoder) Bool() bool { return d.Uint() != 0 }

// Int reads a signed varint.
func (d *Decoder) Int() int64 {
	if d.Err != nil {
		return 0
	}
	v, n := binary.Varint(d.Rest)
	d.skip(n)
	return v
}

// Fill reads len(into) bytes.
func (d *Decoder) Fill(into []byte) {
	if len(into) > len(d.Rest) {
		d.Fail(ErrTruncated)
	}
	if d.Err == nil {
		d.Rest = d.Rest[copy(into, d.Rest):]
	}
}

// Text reads a length and that many bytes.
func (d *Decoder) Text() string {
	n := d.Uint()
	if n > uint64(len(d.Rest)) {
		d.Fail(ErrTruncated)
	}
	if d.Err != nil {
		return ""
	}
	s := string(d.Rest[:n])
	d.Rest = d.Rest[n:]
	return s
}

// End returns the first error. Bytes after the last field are an error too.
func (d *Decoder) End() error {
	if len(d.Rest) > 0 {
		d.Fail(fmt.Errorf("record has %d bytes too many", len(d.Rest)))
	}
	return d.Err
}
