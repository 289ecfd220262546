package disk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/atomicfs"
)

// checkManifest says whether the manifest of a store that was not closed in order is damaged before its end. Each
// of its records is synced before the next one is written, so that a crash can only cut off the last one; but
// Pebble goes on from what is before the first record that it can't read, and removes the tables that it then
// does not know.
func checkManifest(fs vfs.FS, dir string) error {
	name, err := atomicfs.ReadMarker(fs, dir, "manifest")
	if errors.Is(err, os.ErrNotExist) || err == nil && name == "" {
		return nil // a new store
	}
	if err != nil {
		return fmt.Errorf("look for the manifest: %w", err)
	}
	path := fs.PathJoin(dir, name)
	text, err := readFile(fs, path)
	if err != nil {
		return fmt.Errorf("read the manifest: %w", err)
	}
	if at, damaged := damagedRecord([]byte(text)); damaged {
		return &DamagedError{path, fmt.Sprintf("byte %d is not what was written: restore a backup", at)}
	}
	synced, err := readSynced(fs, dir, syncedManifest)
	if err != nil {
		return err
	}
	if _, number, ok := syncedKindOf(name); !ok || number != synced.number {
		return nil // the record is of an earlier manifest
	}
	if at := int64(wholeRecords([]byte(text))); at < synced.length {
		return &DamagedError{path, fmt.Sprintf("byte %d is not what was written, and all was on the disk up to byte %d: %s", at, synced.length, remedyOf(fs, dir))}
	}
	return nil
}

// manifestPrefix begins the names of manifests.
const manifestPrefix = "MANIFEST-"

// The manifest is a log of LevelDB's format: blocks of 32 KiB with chunks in them.
//
//	checksum:4 length:2 position:1 payload
const (
	logBlock       = 32 << 10
	logHeader      = 7
	logFull        = 1 // a whole record; logFirst begins one of several chunks
	logFirst       = 2
	logPositionMax = 4
)

// chunk returns the position and the end of the chunk that begins at a place, if there is one that is whole.
func chunk(b []byte, at int) (position byte, end int, ok bool) {
	if at+logHeader > len(b) {
		return 0, 0, false
	}
	h := b[at:]
	position, end = h[6], at+logHeader+int(binary.LittleEndian.Uint16(h[4:]))
	if position < logFull || position > logPositionMax || end > min(len(b), (at/logBlock+1)*logBlock) {
		return 0, 0, false
	}
	return position, end, checksumIs(h, b[at+6:end])
}

// wholeRecords returns the offset of the first record that can't be read.
func wholeRecords(b []byte) (at int) {
	for at < len(b) {
		if logBlock-at%logBlock < logHeader { // what is left of a block is not used
			at += logBlock - at%logBlock
			continue
		}
		_, end, ok := chunk(b, at)
		if !ok {
			break
		}
		at = end
	}
	return at
}

// damagedRecord returns the offset of a record that can't be read, if another record follows it.
func damagedRecord(b []byte) (at int, damaged bool) {
	at = wholeRecords(b)
	for next := at + 1; next < len(b); next++ {
		if position, _, ok := chunk(b, next); ok && (position == logFull || position == logFirst) {
			return at, true
		}
	}
	return 0, false
}
