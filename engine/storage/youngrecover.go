package storage

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/batchrepr"
	logrecord "github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/wal"

	"github.com/pronybench/prony/engine/storage/disk"
	"github.com/pronybench/prony/engine/storage/record"
	"github.com/pronybench/prony/engine/storage/young"
)

// A store that was not closed cleanly may have young records in its logs. Open recovers them in the
// following steps while it holds the store's lock. After a crash during any step, the next Open
// repeats them:
//
//  1. It reads the file YOUNG, and then the logs that are newer than the newest log that the file
//     names.
//  2. It fsyncs these logs and writes the records to the file YOUNG, with the number of the newest
//     log. Logs up to this number are not read again, so Pebble may remove them, or start new logs
//     after a log whose end a crash cut off.
//  3. After Pebble is open, it stores the records that are neither below the floor nor stored.
//  4. Once these records are on the disk, it replaces the file with a file without records, which
//     still contains the number of the newest log.
//
// The file exists while the store is open. Close removes it when no record is young. So if the file
// does not exist, the store was closed cleanly, or was written by a program without young records.
// Its logs are then not read, and the file is created after step 3. PrefixFloor states whether the
// file must exist.
type recovered struct {
	young.Saved
	found bool // the file YOUNG exists
	read  []string
}

const youngName = "YOUNG"

// recoverYoung reads the young records of a store. The caller must hold the store's lock.
func recoverYoung(files *disk.Files, dir string) (*recovered, error) {
	r := &recovered{}
	if err := r.readFile(files, files.PathJoin(dir, youngName)); err != nil {
		return nil, err
	}
	logs, err := wal.Scan(wal.Dir{FS: files, Dirname: dir})
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("list the logs: %w", err)
	}
	for i, l := range logs {
		if number := uint64(l.Num); number > r.Newest {
			if r.found {
				if err := r.readLog(files, l, i < len(logs)-1); err != nil {
					return nil, err
				}
			}
			r.Newest = number
		}
	}
	return r, nil
}

// readLog reads a log as Pebble does. Only the newest log (closed is false) may have a truncated
// end.
func (r *recovered) readLog(files *disk.Files, l wal.LogicalLog, closed bool) (err error) {
	_, path := l.SegmentLocation(0)
	r.read = append(r.read, path)
	from := l.OpenForRead()
	defer closeAfter(from, &err)
	damaged := func(err error) error {
		return errors.Join(&disk.DamagedError{File: path, Problem: "a part of it has changed since it was written: restore a backup"}, err)
	}
	var batch bytes.Buffer
	for {
		batch.Reset()
		entry, _, err := from.NextRecord()
		if err == nil {
			_, err = batch.ReadFrom(entry)
		}
		switch {
		case err == nil:
			if err := r.readBatch(batch.Bytes()); err != nil {
				return fmt.Errorf("read %s: %w", path, err)
			}
		case errors.Is(err, io.EOF) && closed: // a truncated log may end like this, too
			whole, err := files.HasEnd(path, uint64(l.Num))
			if err == nil && !whole {
				err = damaged(nil)
			}
			return err
		case errors.Is(err, io.EOF), errors.Is(err, logrecord.ErrUnexpectedEOF) && !closed:
			return nil
		default:
			return damaged(err)
		}
	}
}

// readBatch applies a batch of the log to the recovered records. It first adds the young records
// that the batch puts. It then removes the records that the batch drops or stores under their keys.
func (r *recovered) readBatch(batch []byte) error {
	var ends []young.Key
	for in := batchrepr.Read(batch); ; {
		kind, key, _, ok, err := in.Next()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		switch kind {
		case pebble.InternalKeyKindLogData:
			err := young.Decode(key, young.Visitor{Put: r.Put, Drop: func(k young.Key) { ends = append(ends, k) }})
			if err != nil {
				return err
			}
		case pebble.InternalKeyKindSet:
			if k, ok := youngKey(key); ok {
				ends = append(ends, k)
			}
		}
	}
	for _, k := range ends {
		r.Drop(k)
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
	r.found = true
	err = r.Decode(b)
	if errors.Is(err, young.ErrDamaged) {
		return &disk.DamagedError{File: path, Problem: "it has changed since it was written: restore a backup"}
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

func (r *recovered) save(d *database) error {
	if err := disk.SyncLogs(d.fs, d.dir, r.read); err != nil {
		return err
	}
	r.read = nil
	return disk.WriteIn(d.fs, d.dir, youngName, string(r.Encode()))
}

func (y *youngRecords) restore(r *recovered) error {
	floor, err := y.readFloor()
	if err != nil {
		return err
	}
	if floor.More && !r.found {
		return &disk.DamagedError{File: y.on.fs.PathJoin(y.on.dir, youngName), Problem: "it is missing: restore a backup"}
	}
	y.Records, y.floor = young.New(max(floor.Commit, r.Number)), floor
	if y.on.readOnly {
		return y.show(r)
	}
	if !r.found { // floor.More is false, so the file is not missing
		return r.save(y.on)
	}
	if err := y.storeRecovered(r); err != nil {
		return fmt.Errorf("store recovered records: %w", err)
	}
	return nil
}

// left calls visit for those recovered records that are still young, in the order of their keys.
func (y *youngRecords) left(r *recovered, visit func(k young.Key, value []byte) error) error {
	return r.Each(func(number uint64, k young.Key, value []byte) error {
		if number <= y.floor.Commit {
			return nil
		}
		stored, err := exists(live{y}, appendStoredKey(nil, k))
		if err != nil || stored {
			return err
		}
		return visit(k, value)
	})
}

func (y *youngRecords) show(r *recovered) error {
	var puts young.Puts
	err := y.left(r, func(k young.Key, value []byte) error {
		puts.Add(k, value)
		return nil
	})
	if err == nil && puts.Len() > 0 {
		y.Add(&puts)
	}
	return err
}

// storeRecovered stores the recovered records under their keys, and then replaces the file YOUNG
// with a file without records.
func (y *youngRecords) storeRecovered(r *recovered) error {
	if r.Len() == 0 && y.floor.Commit >= y.Number() {
		return nil
	}
	b := y.on.db.NewBatch()
	write := func() error {
		err := y.on.apply(b)
		if err == nil {
			err = errors.Join(b.SyncWait(), b.Close())
		}
		b = y.on.db.NewBatch()
		return err
	}
	err := y.left(r, func(k young.Key, value []byte) error {
		if err := b.Set(appendStoredKey(nil, k), value, nil); err != nil || b.Len() < storeAtOnceBytes {
			return err
		}
		return write()
	})
	y.floor = record.Floor{Commit: y.Number()}
	if err == nil {
		err = b.Set([]byte{record.PrefixFloor}, record.EncodeFloor(y.floor), nil)
	}
	if err == nil {
		err = write()
	}
	if err == nil {
		err = y.on.files.SyncLog()
	}
	if err != nil {
		return err
	}
	y.on.files.Logs().Committing(y.Number())
	y.on.files.Logs().Stored(y.floor.Commit)
	r.Clear()
	return r.save(y.on)
}

func (y *youngRecords) readFloor() (floor record.Floor, err error) {
	v, found, err := get(live{y}, []byte{record.PrefixFloor})
	if err != nil || !found {
		return floor, err
	}
	if floor, err = record.DecodeFloor(v); err != nil {
		return floor, fmt.Errorf("the floor of records that are in the log only: %w", err)
	}
	return floor, nil
}

// end removes the file YOUNG and the retained logs of a store that is being closed. There must be
// no young record.
func (y *youngRecords) end() error {
	if y.on.replicated || y.on.readOnly {
		return nil
	}
	if err := y.on.files.SyncLog(); err != nil {
		return err
	}
	if err := y.on.files.Logs().Finish(); err != nil {
		return fmt.Errorf("remove the retained logs: %w", err)
	}
	if err := y.on.fs.Remove(y.on.fs.PathJoin(y.on.dir, youngName)); err != nil {
		return fmt.Errorf("remove the file of recovered records: %w", err)
	}
	return disk.SyncDir(y.on.fs, y.on.dir)
}

// endSingle opens and closes the store of a single server before the store becomes replicated,
// because Pebble's logs may contain young records.
func endSingle(fs vfs.FS, dir string, o Options) error {
	_, err := fs.Stat(fs.PathJoin(dir, youngName))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("check for the young records of a single server: %w", err)
	}
	o.Replicated, o.Durability, o.Stalls = false, Sync, nil
	s, err := Open(dir, o)
	if err != nil {
		return err
	}
	return s.Close()
}

// singleEnded returns an error if young records from the time before the store became replicated
// are missing.
func (y *youngRecords) singleEnded() error {
	floor, err := y.readFloor()
	if err == nil && floor.More {
		err = &disk.DamagedError{File: y.on.fs.PathJoin(y.on.dir, youngName), Problem: "it is missing: restore a backup"}
	}
	return err
}
