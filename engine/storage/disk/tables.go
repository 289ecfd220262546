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
	// tableFormat is the format of the tables that Pebble writes at pebble.FormatColumnarBlocks, the version of all stores. The
	// footer of a table ends with:
	//
	//	... │ format:4, little-endian │ magic:8
	//
	// No checksum of Pebble covers the format, and Pebble finds no records in a table of another format.
	tableFormat   = 5
	tableMagic    = "\xf0\x9f\xaa\xb3\xf0\x9f\xaa\xb3"
	tableEndBytes = 4 + len(tableMagic)
)

// checkTables returns an error that names a table with another format in its footer than the format that was written. It ignores
// a table without the magic: the table was not written to its end, or Pebble finds the damage.
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
		if err := checkFormat(end); err != nil {
			return &DamagedError{path, fmt.Sprintf("%v: restore a backup", err)}
		}
	}
	return nil
}

// checkFormat checks the format in the last tableEndBytes of a table. Pebble may panic when it reads a table of another format.
func checkFormat(end []byte) error {
	if len(end) < tableEndBytes || string(end[4:]) != tableMagic {
		return nil
	}
	if format := binary.LittleEndian.Uint32(end); format != tableFormat {
		return fmt.Errorf("its footer says format %d, and tables are written in format %d", format, tableFormat)
	}
	return nil
}

// endOf returns the last tableEndBytes of a file, or the whole of a shorter file.
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

// lastBytes returns the last tableEndBytes of a content of some size, or the whole of a shorter one.
func lastBytes(content io.ReaderAt, size int64) ([]byte, error) {
	end := make([]byte, min(int64(tableEndBytes), size))
	if _, err := content.ReadAt(end, size-int64(len(end))); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return end, nil
}
