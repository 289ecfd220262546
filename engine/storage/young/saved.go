package young

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
)

// Saved contains the young records that a process left in the logs of a store. The next process
// saves them in a file before it opens the store. The content of the file is
//
//	format 1 byte │ newest log 8 │ number 8 │ prefix 1 │ queue 4 │ priority 1 │ seq 8 │ length 4 │ value │ number … │ checksum 4
//
// with integers in big-endian order and the records in the order of their keys.
type Saved struct {
	Newest  uint64 // the number of the newest log that was read
	Number  uint64 // the highest number of a commit that put one of the records
	records map[Key]savedRecord
}

type savedRecord struct {
	number uint64
	value  []byte
}

const (
	savedFormat = 1
	savedHead   = 1 + 8
	savedRecs   = 8 + 1 + 4 + 1 + 8 + 4 // size of a record without its value
	savedSum    = 4
)

// ErrDamaged means that a file of saved records has changed since it was written.
var ErrDamaged = errors.New("the saved records do not match their checksum")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Len returns the number of records.
func (s *Saved) Len() int { return len(s.records) }

// Put adds a record with the number of its commit. It copies the value.
func (s *Saved) Put(number uint64, k Key, value []byte) { s.put(number, k, bytes.Clone(value)) }

func (s *Saved) put(number uint64, k Key, value []byte) {
	if s.records == nil {
		s.records = map[Key]savedRecord{}
	}
	s.Number = max(s.Number, number)
	s.records[k] = savedRecord{number, value}
}

// Drop removes a record if it exists.
func (s *Saved) Drop(k Key) { delete(s.records, k) }

// Clear removes all records.
func (s *Saved) Clear() { clear(s.records) }

// Each calls visit for each record in the order of the keys, until visit returns an error.
func (s *Saved) Each(visit func(number uint64, k Key, value []byte) error) error {
	for _, k := range s.keys() {
		if err := visit(s.records[k].number, k, s.records[k].value); err != nil {
			return err
		}
	}
	return nil
}

func (s *Saved) keys() []Key {
	keys := make([]Key, 0, len(s.records))
	for k := range s.records {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, Key.Compare)
	return keys
}

// Encode returns the content of the file.
func (s *Saved) Encode() []byte {
	size := savedHead + savedSum
	for _, r := range s.records {
		size += savedRecs + len(r.value)
	}
	b := binary.BigEndian.AppendUint64(append(make([]byte, 0, size), savedFormat), s.Newest)
	for _, k := range s.keys() {
		r := s.records[k]
		b = append(binary.BigEndian.AppendUint64(b, r.number), k.Prefix)
		b = append(binary.BigEndian.AppendUint32(b, k.Queue), k.Priority)
		b = binary.BigEndian.AppendUint64(b, k.Seq)
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(r.value))), r.value...)
	}
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// Decode reads the content of a file. The records share the memory of b. The error is ErrDamaged,
// or another error if a newer program wrote the file.
func (s *Saved) Decode(b []byte) error {
	if len(b) < savedHead+savedSum {
		return ErrDamaged
	}
	sum := len(b) - savedSum
	if crc32.Checksum(b[:sum], castagnoli) != binary.BigEndian.Uint32(b[sum:]) {
		return ErrDamaged
	}
	if b[0] != savedFormat {
		return fmt.Errorf("saved records have format %d, this program reads format %d: use a newer one", b[0], savedFormat)
	}
	s.Newest = binary.BigEndian.Uint64(b[1:])
	for b = b[savedHead:sum]; len(b) > 0; {
		if len(b) < savedRecs {
			return ErrDamaged
		}
		number := binary.BigEndian.Uint64(b)
		k := Key{Prefix: b[8], Queue: binary.BigEndian.Uint32(b[9:]), Priority: b[13], Seq: binary.BigEndian.Uint64(b[14:])}
		n := uint64(binary.BigEndian.Uint32(b[22:]))
		if b = b[savedRecs:]; uint64(len(b)) < n {
			return ErrDamaged
		}
		s.put(number, k, b[:n:n])
		b = b[n:]
	}
	return nil
}
