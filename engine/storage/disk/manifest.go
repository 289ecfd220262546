package disk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/atomicfs"
)

// checkManifest checks the manifest of a store that was not closed cleanly. It returns an error if
// the manifest is damaged before its end. Pebble fsyncs each record before it writes the next
// record, so a crash can truncate only the last record. Without this check, Pebble would ignore
// everything from the first unreadable record on, and remove the tables that the ignored records
// name.
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
		return &DamagedError{path, fmt.Sprintf("the content is wrong from byte %d on: restore a backup", at)}
	}
	synced, err := readSynced(fs, dir, syncedManifest)
	if err != nil {
		return err
	}
	if _, number, ok := syncedKindOf(name); !ok || number != synced.number {
		return nil // the note describes an earlier manifest
	}
	if at := int64(wholeRecords([]byte(text))); at < synced.length {
		return &DamagedError{path, fmt.Sprintf("the content is wrong from byte %d on, although it was fsynced up to byte %d: %s", at, synced.length, remedyOf(fs, dir))}
	}
	return nil
}

// manifestPrefix is the prefix of the names of manifests.
const manifestPrefix = "MANIFEST-"

// The manifest is a log in the format of LevelDB. It consists of blocks of 32 KiB, which contain
// chunks:
//
//	checksum:4 length:2 position:1 payload
const (
	logBlock       = 32 << 10
	logHeader      = 7
	logFull        = 1 // the chunk is a whole record; logFirst means the first of several chunks
	logFirst       = 2
	logPositionMax = 4
)

// chunk returns the position and the end of the chunk at an offset. ok is false if there is no
// intact chunk.
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

// wholeRecords returns the offset of the first unreadable record, or the end of b if there is none.
func wholeRecords(b []byte) (at int) {
	for at < len(b) {
		if logBlock-at%logBlock < logHeader { // the rest of the block is unused
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

// damagedRecord returns the offset of the first unreadable record, if an intact record starts after
// it.
func damagedRecord(b []byte) (at int, damaged bool) {
	at = wholeRecords(b)
	for next := at + 1; next < len(b); next++ {
		if position, _, ok := chunk(b, next); ok && (position == logFull || position == logFirst) {
			return at, true
		}
	}
	return 0, false
}
