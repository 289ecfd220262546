// Package fields decodes the fields of stored records one after another.
package fields

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// ErrTruncated means that a record ends before its last field.
var ErrTruncated = errors.New("record is cut short")

// Decoder reads and removes fields from the start of Rest. Once a field cannot be read, Err is the
// error, and all further fields are zero.
type Decoder struct {
	Rest []byte
	Err  error
	// Format is the format byte of the record. The caller must not read fields that this format
	// does not contain.
	Format byte
}

// New returns a decoder for a record. The first byte of the record must be the given format.
func New(b []byte, format byte) *Decoder { return NewSince(b, format, format) }

// NewSince is like New for records in several formats. oldest and newest are the first and the last
// supported format.
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

// Fail records an error. It does nothing if there was an earlier error.
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

// UpTo reads an unsigned varint. It fails if the value exceeds most.
func (d *Decoder) UpTo(most uint64) uint64 {
	v := d.Uint()
	if v > most {
		d.Fail(fmt.Errorf("number %d is out of range", v))
	}
	return v
}

// Uint32 reads an unsigned varint. It fails if the value exceeds 32 bits.
func (d *Decoder) Uint32() uint32 { return uint32(d.UpTo(math.MaxUint32)) }

// Uint8 reads an unsigned varint. It fails if the value exceeds 8 bits.
func (d *Decoder) Uint8() uint8 { return uint8(d.UpTo(math.MaxUint8)) }

// Bool reads an unsigned varint. 0 means false, any other value true.
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

// Fill reads len(into) bytes and copies them to into.
func (d *Decoder) Fill(into []byte) {
	if len(into) > len(d.Rest) {
		d.Fail(ErrTruncated)
	}
	if d.Err == nil {
		d.Rest = d.Rest[copy(into, d.Rest):]
	}
}

// Text reads a length in bytes and a text of that length.
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

// End returns the first error. It also returns an error if bytes follow the last field.
func (d *Decoder) End() error {
	if len(d.Rest) > 0 {
		d.Fail(fmt.Errorf("record has %d bytes too many", len(d.Rest)))
	}
	return d.Err
}
