package disk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

const (
	// tableFormat is the format of the tables that Pebble writes at pebble.FormatColumnarBlocks, which all stores have had from
	// the first. The footer's end says it:
	//
	//	... │ format:4, little-endian │ magic:8
	//
	// Pebble has no checksum over it, and takes a table of another format for one without the records that it looks for.
	tableFormat   = 5
	tableMagic    = "\xf0\x9f\xaa\xb3\xf0\x9f\xaa\xb3"
	tableEndBytes = 4 + len(tableMagic)
)

// checkTables names a table whose footer says another format than the one that was written. A table without the magic is one
// that was not written to its end, or Pebble finds it damaged.
func checkTables(fs vfs.FS, dir string) error {
	names, err := fs.List(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for the store's tables: %w", err)
	}
	for _, name := range names {
		if !strings.HasSuffix(name, ".sst") {
			continue
		}
		path := fs.PathJoin(dir, name)
		end, err := endOf(fs, path)
		if err != nil {
			return fmt.Errorf("read the end of a table: %w", err)
		}
		if len(end) < tableEndBytes || string(end[4:]) != tableMagic {
			continue
		}
		if format := binary.LittleEndian.Uint32(end); format != tableFormat {
			return &DamagedError{path, fmt.Sprintf("its footer says format %d, and tables are written in format %d: restore a backup", format, tableFormat)}
		}
	}
	return nil
}

// endOf reads the last tableEndBytes of a file; fewer of a shorter one.
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
	end = make([]byte, min(int64(tableEndBytes), info.Size()))
	if _, err := file.ReadAt(end, info.Size()-int64(len(end))); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return end, nil
}
