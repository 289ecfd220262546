package storage

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/batchrepr"
	logrecord "github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/wal"

	"github.com/pronybench/prony/engine/storage/disk"
	"github.com/pronybench/prony/engine/storage/record"
	"github.com/pronybench/prony/engine/storage/young"
)

// A store that was not closed in order has young records in its logs. Open recovers them in these steps, and a crash during any of them
// is followed by the same steps:
//
//  1. It reads the file YOUNG, if there is one, and then the logs that are newer than those the file is about.
//  2. It writes the records to the file YOUNG. From then on Pebble may remove the logs, or begin new ones after a log whose end a crash
//     cut off: logs up to the newest one are not read again.
//  3. After Pebble is open, it stores the records that are neither below the floor nor stored.
//  4. Once these are on the disk, it replaces the file by one without records. The file still says which logs are not read again.
//
// The file YOUNG is
//
//	format 1 byte │ newest log 8 │ number 8 │ key length 4 │ key │ value length 4 │ value │ … │ checksum 4
//
// with integers in big-endian order, and the keys under which the records are to be stored.
const (
	youngName   = "YOUNG"
	youngFormat = 1
	youngHead   = 1 + 8
	youngSum    = 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// recovered are the young records of a store that was not closed in order.
type recovered struct {
	newest  uint64 // the newest log that they are from
	number  uint64 // the greatest of any commit
	records map[string]recoveredRecord
	unsaved bool // the file YOUNG is to be written
	scratch []byte
}

type recoveredRecord struct {
	number uint64
	value  []byte
}

// recoverYoung reads the young records of a closed store.
func recoverYoung(fs vfs.FS, dir string) (*recovered, error) {
	r := &recovered{records: map[string]recoveredRecord{}}
	if err := r.readFile(fs, fs.PathJoin(dir, youngName)); err != nil {
		return nil, err
	}
	logs, err := wal.Scan(wal.Dir{FS: fs, Dirname: dir})
	if errors.Is(err, os.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for logs: %w", err)
	}
	for i, l := range logs {
		if uint64(l.Num) <= r.newest {
			continue
		}
		if err := r.readLog(l, i < len(logs)-1); err != nil {
			_, path := l.SegmentLocation(0)
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		r.newest = uint64(l.Num)
	}
	r.unsaved = r.unsaved || len(r.records) > 0
	return r, nil
}

// readLog reads a log as Pebble does. Only the end of the newest log may be cut off.
func (r *recovered) readLog(l wal.LogicalLog, whole bool) (err error) {
	from := l.OpenForRead()
	defer closeAfter(from, &err)
	for {
		entry, _, err := from.NextRecord()
		var batch []byte
		if err == nil {
			batch, err = io.ReadAll(entry)
		}
		if errors.Is(err, io.EOF) || errors.Is(err, logrecord.ErrUnexpectedEOF) && !whole {
			r.unsaved = r.unsaved || !errors.Is(err, io.EOF)
			return nil
		}
		if err != nil {
			_, path := l.SegmentLocation(0)
			return errors.Join(&disk.DamagedError{File: path, Problem: "not all of it is what was written: restore a backup"}, err)
		}
		if err := r.readBatch(batch); err != nil {
			return err
		}
	}
}

// readBatch takes what a batch says about young records: first those that it puts, then those that it drops or stores.
func (r *recovered) readBatch(batch []byte) error {
	var ends [][]byte
	for in := batchrepr.Read(batch); ; {
		kind, key, _, ok, err := in.Next()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		switch {
		case kind == pebble.InternalKeyKindLogData && len(key) > 0:
			err := young.Decode(key, young.Visitor{
				Put: func(number uint64, k young.Key, value []byte) {
					r.number = max(r.number, number)
					r.records[string(appendStoredKey(r.scratch[:0], k))] = recoveredRecord{number, bytes.Clone(value)}
				},
				Drop: func(k young.Key) { ends = append(ends, appendStoredKey(nil, k)) },
			})
			if err != nil {
				return err
			}
		case kind == pebble.InternalKeyKindSet && len(key) > 0 && slices.Contains(youngPrefixes[:], key[0]):
			ends = append(ends, key)
		}
	}
	for _, key := range ends {
		delete(r.records, string(key))
	}
	return nil
}

func (r *recovered) readFile(fs vfs.FS, path string) (err error) {
	f, err := fs.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read recovered records: %w", err)
	}
	defer closeAfter(f, &err)
	b, err := io.ReadAll(f)
	if err != nil {
		return fmt.Errorf("read recovered records: %w", err)
	}
	if len(b) > 0 && b[0] > youngFormat {
		return fmt.Errorf("the file %s has format %d, this server reads format %d: use a newer server", path, b[0], youngFormat)
	}
	damaged := &disk.DamagedError{File: path, Problem: "it is not what was written: restore a backup"}
	if len(b) < youngHead+youngSum || crc32.Checksum(b[:len(b)-youngSum], castagnoli) != binary.BigEndian.Uint32(b[len(b)-youngSum:]) {
		return damaged
	}
	r.newest = binary.BigEndian.Uint64(b[1:])
	b = b[youngHead : len(b)-youngSum]
	part := func() []byte {
		if len(b) < 4 || uint64(len(b)-4) < uint64(binary.BigEndian.Uint32(b)) {
			b = nil
			return nil
		}
		n := binary.BigEndian.Uint32(b)
		v := b[4 : 4+n]
		b = b[4+n:]
		return v
	}
	for len(b) > 0 {
		if len(b) < 8 {
			return damaged
		}
		number := binary.BigEndian.Uint64(b)
		b = b[8:]
		key, value := part(), part()
		if key == nil || value == nil {
			return damaged
		}
		r.number = max(r.number, number)
		r.records[string(key)] = recoveredRecord{number, value}
	}
	return nil
}

func (r *recovered) encode() []byte {
	b := binary.BigEndian.AppendUint64([]byte{youngFormat}, r.newest)
	for _, key := range r.sorted() {
		one := r.records[key]
		b = binary.BigEndian.AppendUint64(b, one.number)
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(key))), key...)
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(one.value))), one.value...)
	}
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

func (r *recovered) sorted() []string {
	keys := make([]string, 0, len(r.records))
	for key := range r.records {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, cmp.Compare[string])
	return keys
}

// save writes the records to the file YOUNG, if logs were read that must not be read again.
func (r *recovered) save(fs vfs.FS, dir string) error {
	if !r.unsaved {
		return nil
	}
	r.unsaved = false
	return disk.WriteIn(fs, dir, youngName, string(r.encode()))
}

// restore makes the recovered records a part of the open store.
func (s *Store) restore(r *recovered) error {
	floor, err := s.youngFloor()
	if err != nil {
		return err
	}
	y := s.young
	y.Records, y.floor = young.New(max(floor, r.number)), floor
	b := s.NewBatch()
	for _, key := range r.sorted() {
		one := r.records[key]
		if one.number <= floor {
			continue
		}
		switch stored, err := exists(s.live(), []byte(key)); {
		case err != nil:
			return err
		case stored:
			continue
		}
		k, ok := youngKey([]byte(key))
		if !ok {
			return fmt.Errorf("key %x of a recovered record is of no known kind", key)
		}
		b.puts.Add(k, one.value)
	}
	if s.readOnly {
		if b.puts.Len() > 0 {
			y.Add(&b.puts)
		}
		return nil
	}
	y.direct++ // the records are stored at once
	if !b.Empty() {
		var c Commit
		if c, err = b.Submit(); err == nil {
			err = c.Wait()
		}
	}
	y.direct--
	if err == nil && len(r.records) > 0 {
		if err = s.restored(); err == nil {
			clear(r.records)
			r.unsaved = true
			err = r.save(s.fs, s.dir)
		}
	}
	if err != nil {
		return fmt.Errorf("store recovered records: %w", err)
	}
	return s.beginLeases()
}

// restored notes that all records up to the last number are stored, durably.
func (s *Store) restored() error {
	y := s.young
	y.mu.Lock()
	defer y.mu.Unlock()
	b := s.NewBatch()
	y.setFloorLocked(b)
	if b.err == nil {
		b.err = s.db.Apply(b.b, pebble.Sync)
	}
	if b.err == nil {
		b.err = s.files.SyncLog()
	}
	s.files.Logs().Committing(y.Number())
	s.files.Logs().Stored(y.floor)
	return b.err
}

// youngFloor returns the floor that the store has.
func (s *Store) youngFloor() (uint64, error) {
	v, found, err := get(s.live(), []byte{record.PrefixFloor})
	if err != nil || !found {
		return 0, err
	}
	floor, err := record.DecodeFloor(v)
	if err != nil {
		return 0, fmt.Errorf("up to where records are stored: %w", err)
	}
	return floor, nil
}

// beginLeases has later leases be young only if their batches are new: a stored lease that is put again is stored again.
func (s *Store) beginLeases() (err error) {
	it, err := iterate(s.db, []byte{record.PrefixLease}, []byte{record.PrefixLease + 1})
	if err != nil {
		return fmt.Errorf("scan %x: %w", record.PrefixLease, err)
	}
	defer closeAfter(it, &err)
	if it.Last() {
		if len(it.Key()) < record.IDKeyLen {
			return fmt.Errorf("key %x of a lease has %d bytes, not %d", it.Key(), len(it.Key()), record.IDKeyLen)
		}
		s.young.Skip(leaseKey(record.IDOf(it.Key())))
	}
	return it.Error()
}
