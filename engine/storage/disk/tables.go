package disk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/wal"
)

const (
	// tableFormat is the format of the tables that Pebble writes at pebble.FormatColumnarBlocks,
	// the version of all stores. The footer of a table ends with:
	//
	//	... │ format:4, little-endian │ magic:8
	//
	// No checksum of Pebble includes the format, and Pebble finds no records in a table with a
	// wrong format.
	tableFormat   = 5
	tableMagic    = "\xf0\x9f\xaa\xb3\xf0\x9f\xaa\xb3"
	tableEndBytes = 4 + len(tableMagic)
)

// checkTables returns an error if the format in the footer of a table is not tableFormat. It
// ignores a table without the magic: either the write of the table was interrupted, or Pebble
// detects the damage. It also ignores a table that the manifest does not name. Pebble removes such
// a table, and a power loss during its write may leave any content.
func checkTables(fs vfs.FS, dir string) error {
	names, err := fs.List(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list the store's tables: %w", err)
	}
	bad := map[string]error{}
	for _, name := range names {
		if !strings.HasSuffix(name, tableSuffix) {
			continue
		}
		end, err := endOf(fs, fs.PathJoin(dir, name))
		if err != nil {
			return fmt.Errorf("read the end of a table: %w", err)
		}
		if err := checkFormat(end); err != nil {
			bad[name] = err
		}
	}
	if len(bad) == 0 {
		return nil
	}
	named, err := namedTables(fs, dir)
	if err != nil {
		return fmt.Errorf("look up which tables the manifest names: %w", err)
	}
	for _, name := range named {
		if err := bad[name]; err != nil {
			return &DamagedError{fs.PathJoin(dir, name), fmt.Sprintf("%v: restore a backup", err)}
		}
	}
	return nil
}

// namedTables returns the names of the tables in the manifest of a store. It reads neither tables
// nor logs and changes nothing.
func namedTables(fs vfs.FS, dir string) (names []string, err error) {
	db, err := Open(dir, &pebble.Options{
		FS: withoutLogs{fs}, FormatMajorVersion: pebble.FormatColumnarBlocks, ReadOnly: true, DisableTableStats: true,
		Logger: NewLog(nil, nil), LoggerAndTracer: NewLog(nil, nil),
	})
	if errors.Is(err, pebble.ErrDBDoesNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer closeAfter(db, &err)
	levels, err := db.SSTables()
	if err != nil {
		return nil, err
	}
	for _, level := range levels {
		for _, t := range level {
			names = append(names, t.BackingSSTNum.String()+tableSuffix)
		}
	}
	return names, nil
}

// withoutLogs hides the logs of a store, and does not lock the store.
type withoutLogs struct{ vfs.FS }

// List omits the logs, which Pebble would read into memory.
func (w withoutLogs) List(dir string) ([]string, error) {
	names, err := w.FS.List(dir)
	return slices.DeleteFunc(names, func(name string) bool {
		_, _, log := wal.ParseLogFilename(name)
		return log
	}), err
}

// Lock does nothing. Pebble would create a lock file, but the store is locked only after its files
// were checked.
func (w withoutLogs) Lock(string) (io.Closer, error) { return io.NopCloser(nil), nil }

// checkFormat checks the format in the last tableEndBytes of a table. Pebble may panic when it
// reads a table with another format.
func checkFormat(end []byte) error {
	if len(end) < tableEndBytes || string(end[4:]) != tableMagic {
		return nil
	}
	if format := binary.LittleEndian.Uint32(end); format != tableFormat {
		return fmt.Errorf("its footer has format %d, expected format %d", format, tableFormat)
	}
	return nil
}

func endOf(fs vfs.FS, path string) (end []byte, err error) {
	file, err := fs.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	return lastBytes(file, info.Size())
}

func lastBytes(content io.ReaderAt, size int64) ([]byte, error) {
	end := make([]byte, min(int64(tableEndBytes), size))
	if _, err := content.ReadAt(end, size-int64(len(end))); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return end, nil
}
