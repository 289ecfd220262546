package disk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/wal"
)

// Pebble treats damage in its newest log, or at the end of its manifest, as a write that a crash
// interrupted: it drops the damaged record and everything after it. Therefore a store records in a
// note how far each of the two files was fsynced, and damage before that point is an error. The
// note is written after each fsync, before the commits that wait for the fsync return. The note
// itself is not fsynced. If the process is killed, the newest note survives. After a power loss an
// earlier note may be found, which is still correct.
//
// A power loss may interrupt the write of a note. So there are two slots for each of the two files,
// which are written alternately: if one slot is damaged, the other slot still contains the previous
// note.
//
// Pebble's FormatWALSyncChunks is not used instead. The offsets that it records omit whole blocks
// and exclude the last 32 KiB. It also records data as fsynced whose fsync Interval or None delays.
// If a power loss then removed the end of a log, the log could no longer be opened.
//
//	slot 0 of the log │ slot 0 of the manifest │ slot 1 of the log │ slot 1 of the manifest
//
//	slot: format:1 file number:8 length:8 checksum:4
//
// with integers in little-endian order. An unused slot is zero or beyond the end of the file.
// Earlier versions read and write only slot 0. They can read this file unless slot 0 is damaged,
// and this version can read theirs.
const (
	syncedName   = "SYNCED"
	syncedFormat = 1
	syncedBytes  = 1 + 8 + 8 + 4
	syncedSlots  = 2
)

// syncedKind is the kind of file that a note describes. The slots with the same number are in the
// order of the kinds.
type syncedKind int

const (
	syncedLog syncedKind = iota
	syncedManifest
	syncedKinds
)

// syncedKindOf returns the kind and number of a file of a store. ok is false if the file is neither
// a log nor a manifest.
func syncedKindOf(name string) (kind syncedKind, number uint64, ok bool) {
	if log, _, ok := wal.ParseLogFilename(name); ok {
		return syncedLog, uint64(log), true
	}
	if p, ok := parsePending(name); ok {
		return syncedLog, p.number, true
	}
	if text, ok := strings.CutPrefix(name, manifestPrefix); ok {
		number, err := strconv.ParseUint(text, 10, 64)
		return syncedManifest, number, err == nil
	}
	return 0, 0, false
}

// syncedNote records how far a store's newest log and manifest were fsynced. It is safe for
// concurrent use.
type syncedNote struct {
	fs   vfs.FS
	path string

	mu   sync.Mutex // held while a note is written
	file vfs.File   // nil until the first note
	now  [syncedKinds]SyncedFile
	next [syncedKinds]int // the slot to write next, which is not the slot of the newest note
	buf  [syncedBytes]byte
}

// note records that the first length bytes of a file are on the disk.
func (n *syncedNote) note(kind syncedKind, number uint64, length int64) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if now := n.now[kind]; number < now.number || number == now.number && length <= now.length {
		return nil
	}
	if n.file == nil {
		if err := n.open(); err != nil {
			return err
		}
	}
	b := append(n.buf[:0], syncedFormat)
	b = binary.LittleEndian.AppendUint64(b, number)
	b = binary.LittleEndian.AppendUint64(b, uint64(length))
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	if _, err := n.file.WriteAt(b, int64(syncedOffset(kind, n.next[kind]))); err != nil {
		return err
	}
	n.now[kind] = SyncedFile{number, length}
	n.next[kind] = (n.next[kind] + 1) % syncedSlots
	return nil
}

func (n *syncedNote) open() error {
	text, err := readFile(n.fs, n.path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for kind := range syncedKinds {
		if newest, ok := newestSlot(readSlots([]byte(text), kind)); ok {
			n.next[kind] = (newest + 1) % syncedSlots
		}
	}
	f, err := n.fs.OpenReadWrite(n.path, vfs.WriteCategoryUnspecified)
	if err == nil {
		n.file = f
	}
	return err
}

func syncedOffset(kind syncedKind, slot int) int {
	return (slot*int(syncedKinds) + int(kind)) * syncedBytes
}

func (n *syncedNote) current(kind syncedKind) SyncedFile {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.now[kind]
}

func (n *syncedNote) close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.file == nil {
		return nil
	}
	f := n.file
	n.file = nil
	return f.Close()
}

func readSynced(fs vfs.FS, dir string, kind syncedKind) (s SyncedFile, err error) {
	path := fs.PathJoin(dir, syncedName)
	text, err := readFile(fs, path)
	if errors.Is(err, os.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, fmt.Errorf("read the fsynced length of the log: %w", err)
	}
	return parseSynced(path, []byte(text), kind)
}

// parseSynced returns the newest note of a kind. path is used in errors only.
func parseSynced(path string, text []byte, kind syncedKind) (s SyncedFile, err error) {
	slots := readSlots(text, kind)
	if newest, ok := newestSlot(slots); ok {
		return slots[newest].note, nil
	}
	for _, slot := range slots {
		if slot.format > syncedFormat {
			return s, fmt.Errorf("the file %s has format %d, this server reads format %d: use a newer server", path, slot.format, syncedFormat)
		}
	}
	for _, slot := range slots {
		if slot.state == slotUnused {
			return s, nil // no note was written, or a power loss damaged or removed the first note
		}
	}
	return s, fmt.Errorf("the file %s is damaged: remove it to open the store without this check", path)
}

type slotState int

const (
	slotUnused slotState = iota
	slotDamaged
	slotWhole
)

type syncedSlot struct {
	state  slotState
	format byte
	note   SyncedFile // valid if state is slotWhole
}

func readSlots(b []byte, kind syncedKind) (slots [syncedSlots]syncedSlot) {
	for i := range slots {
		at := syncedOffset(kind, i)
		slots[i] = readSlot(b[min(len(b), at):min(len(b), at+syncedBytes)])
	}
	return slots
}

func readSlot(b []byte) (s syncedSlot) {
	if len(b) == 0 || len(b) == syncedBytes && [syncedBytes]byte(b) == [syncedBytes]byte{} {
		return s
	}
	s.state, s.format = slotDamaged, b[0]
	if len(b) == syncedBytes && s.format == syncedFormat && crc32.Checksum(b[:syncedBytes-4], castagnoli) == binary.LittleEndian.Uint32(b[syncedBytes-4:]) {
		s.state = slotWhole
		s.note = SyncedFile{binary.LittleEndian.Uint64(b[1:]), int64(binary.LittleEndian.Uint64(b[9:]))}
	}
	return s
}

func newestSlot(s [syncedSlots]syncedSlot) (newest int, ok bool) {
	for i := range s {
		if s[i].state != slotWhole {
			continue
		}
		a, b := s[i].note, s[newest].note
		if !ok || a.number > b.number || a.number == b.number && a.length > b.length {
			newest, ok = i, true
		}
	}
	return newest, ok
}

// forgetMissing removes the notes if a log or a manifest that they describe does not exist.
// Otherwise, after a power loss, Pebble could create a shorter file with the same number, which the
// note would describe wrongly.
func forgetMissing(fs vfs.FS, dir string) error {
	names, err := fs.List(dir)
	if err != nil {
		return fmt.Errorf("list the log and the manifest: %w", err)
	}
	for kind := range syncedKinds {
		s, err := readSynced(fs, dir, kind)
		if err != nil {
			return err
		}
		if s.length == 0 || slices.Contains(names, kind.fileName(s.number)) {
			continue
		}
		if err = fs.Remove(fs.PathJoin(dir, syncedName)); err == nil {
			err = SyncDir(fs, dir)
		}
		if err != nil {
			return fmt.Errorf("remove the fsynced length of a missing file: %w", err)
		}
		return nil
	}
	return nil
}

func (k syncedKind) fileName(number uint64) string {
	if k == syncedLog {
		return logName(number)
	}
	return fmt.Sprintf("%s%06d", manifestPrefix, number)
}

func checkLog(fs vfs.FS, dir string) error {
	s, err := readSynced(fs, dir, syncedLog)
	if err != nil {
		return err
	}
	return s.check(fs, dir, remedyOf(fs, dir))
}

func remedyOf(fs vfs.FS, dir string) string {
	return fmt.Sprintf("restore a backup, or remove %s to open the store without the data after the damage", fs.PathJoin(dir, syncedName))
}

// SyncedFile is the number and the fsynced length, in bytes, of a store's newest log or manifest.
// The zero value means unknown.
type SyncedFile struct {
	number uint64
	length int64
}

// Check checks the fsynced part of the log in a copy of the store. The copy must have been made
// after s was read. Check returns the first damage as a *DamagedError.
func (s SyncedFile) Check(fs vfs.FS, dir string) error {
	return s.check(fs, dir, "it was damaged before it was copied")
}

// check checks the fsynced part of a store's log. A missing log is no error, since Pebble removes
// logs that it no longer needs.
func (s SyncedFile) check(fs vfs.FS, dir, remedy string) error {
	if s.length == 0 {
		return nil
	}
	names, err := fs.List(dir)
	if err != nil {
		return fmt.Errorf("list the logs: %w", err)
	}
	for _, name := range names {
		if n, _, ok := wal.ParseLogFilename(name); !ok || uint64(n) != s.number {
			continue
		}
		path := fs.PathJoin(dir, name)
		f, err := fs.Open(path)
		if err != nil {
			return fmt.Errorf("check the log: %w", err)
		}
		at, err := checkChunks(f, uint32(s.number), s.length)
		if err = errors.Join(err, f.Close()); err != nil {
			return fmt.Errorf("check the log: %w", err)
		}
		if at < s.length {
			return &DamagedError{path, fmt.Sprintf("the content is wrong from byte %d on, although it was fsynced up to byte %d: %s", at, s.length, remedy)}
		}
	}
	return nil
}

// checkChunks returns the length of the intact prefix of a log, or length if that is shorter.
func checkChunks(content io.Reader, log uint32, length int64) (whole int64, err error) {
	block := make([]byte, logBlock) // no chunk crosses the end of a block
	for at := int64(0); at < length; at += logBlock {
		n, err := io.ReadFull(content, block)
		if errors.Is(err, io.EOF) {
			return at, nil
		}
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return at, err
		}
		if whole, _ := wholeChunks(block[:n], log); at+int64(whole) < length && whole < logBlock {
			return at + int64(whole), nil
		}
	}
	return length, nil
}

// The header of a chunk in a log is the header of a chunk in a manifest, followed by the number of
// the log:
//
//	checksum:4 length:2 encoding:1 log number:4 payload
const (
	walHeader = logHeader + 4
	// walFull means that the chunk is a whole record. The encodings after it up to walLast are
	// parts of a record.
	walFull     = 5
	walLast     = 8
	walChecksum = 0xa282ead8
)

// wholeChunks returns the offset of the first damaged chunk of a block, or logBlock if there is
// none. If it finds the trailer that ends a log, it returns the end of the trailer, and ended is
// true.
func wholeChunks(b []byte, log uint32) (at int, ended bool) {
	for logBlock-at >= walHeader { // the rest of the block is unused
		if at+walHeader > len(b) {
			return at, false
		}
		h := b[at:]
		encoding, number := h[6], binary.LittleEndian.Uint32(h[logHeader:])
		end := at + walHeader + int(binary.LittleEndian.Uint16(h[4:]))
		trailer := encoding == walFull && number == log+1 && end == at+walHeader && binary.LittleEndian.Uint32(h) == 0
		if trailer {
			return end, true
		}
		if encoding < walFull || encoding > walLast || number != log || end > len(b) || !checksumIs(h, b[at+6:end]) {
			return at, false
		}
		at = end
	}
	return logBlock, false
}

// checksumIs reports whether a header begins with the checksum of its chunk, in LevelDB's masked
// form.
func checksumIs(header, of []byte) bool {
	sum := crc32.Checksum(of, castagnoli)
	return binary.LittleEndian.Uint32(header) == sum>>15|sum<<17+walChecksum
}
