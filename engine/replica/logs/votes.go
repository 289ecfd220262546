package logs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A group's stable store is also written to a small vote file next to Pebble's files. The file
// consists of two places (fixed areas), which are written alternately:
//
//	VOTE-<group>   │ place 4096 │ place 4096 │
//	place          │ format 1 │ change 8 │ length 4 │ values │ CRC-32C 4 │ unused
//	value          │ kind 1 │ length: uvarint │ name │ length: uvarint │ record │
//
// Integers are big-endian. A vote is written and fsynced to this file before the node sends it. The
// file's space is allocated when the file is created, so the fsync waits neither for log data nor
// for the file system's journal. Under load, an fsync of Pebble's log takes far longer.
//
// A crash can interrupt the write of a place. The vote in it was not sent yet, and the other place
// still contains the previous values. Pebble also stores each change with its number. If Pebble and
// the vote file differ, the later change is valid; see restoreVotes.
const (
	votesPrefix = "VOTE-"
	placeBytes  = 4096
	placesCount = 2
	// placeHeadLen is the length in bytes of a place's header, which precedes the values.
	placeHeadLen = 1 + 8 + 4
	checksumLen  = 4
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func votesName(group uint16) string { return fmt.Sprintf("%s%04x", votesPrefix, group) }

// votesGroup returns the group of the vote file with the given name. ok is false if the name is not
// that of a vote file.
func votesGroup(name string) (uint16, bool) {
	hex, is := strings.CutPrefix(name, votesPrefix)
	n, err := strconv.ParseUint(hex, 16, 16)
	return uint16(n), is && err == nil && name == votesName(uint16(n))
}

type stableValue struct {
	kind         byte
	name, record []byte
}

// votes is the vote file of one group. It is not safe for concurrent use.
type votes struct {
	file   vfs.File
	change uint64        // number of the newest change when the file was opened
	values []stableValue // values of the newest place when the file was opened
	next   int           // index of the place to write next; never the place of the newest values
}

func openVotes(fs vfs.FS, dir string, group uint16) (*votes, error) {
	name := votesName(group)
	v, err := openVotesFile(fs, dir, name)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	return v, nil
}

func openVotesFile(fs vfs.FS, dir, name string) (_ *votes, err error) {
	path := fs.PathJoin(dir, name)
	content, err := readVotes(fs, path)
	if err != nil {
		return nil, err
	}
	v := &votes{}
	if v.file, err = fs.OpenReadWrite(path, vfs.WriteCategoryUnspecified); err != nil {
		return nil, err
	}
	if len(content) < placeBytes*placesCount { // new, or a crash interrupted its creation
		_, err = v.file.WriteAt(make([]byte, placeBytes*placesCount), 0)
		if err == nil {
			err = v.file.Sync()
		}
		if err == nil {
			err = syncDir(fs, dir)
		}
		if err != nil {
			return nil, errors.Join(err, v.file.Close())
		}
		return v, nil
	}
	for i := range placesCount {
		change, values, err := readPlace(content[i*placeBytes : (i+1)*placeBytes])
		if err != nil {
			return nil, errors.Join(err, v.file.Close())
		}
		if change > v.change {
			v.change, v.values, v.next = change, values, (i+1)%placesCount
		}
	}
	return v, nil
}

func readVotes(fs vfs.FS, path string) (content []byte, err error) {
	f, err := fs.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return io.ReadAll(io.LimitReader(f, placeBytes*placesCount))
}

func syncDir(fs vfs.FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// write overwrites the older place with an encoded place. It returns once the new place would
// survive a power loss.
func (v *votes) write(place []byte) error {
	if _, err := v.file.WriteAt(place, int64(v.next*placeBytes)); err != nil {
		return err
	}
	if err := v.file.SyncData(); err != nil {
		return err
	}
	v.next = (v.next + 1) % placesCount
	return nil
}

// encodePlace returns a place without its checksum.
func encodePlace(change uint64, values []stableValue) []byte {
	b := append(make([]byte, 0, placeBytes), format)
	b = binary.BigEndian.AppendUint64(b, change)
	b = binary.BigEndian.AppendUint32(b, 0) // space for the length, set below
	for _, v := range values {
		b = append(b, v.kind)
		b = append(binary.AppendUvarint(b, uint64(len(v.name))), v.name...)
		b = append(binary.AppendUvarint(b, uint64(len(v.record))), v.record...)
	}
	binary.BigEndian.PutUint32(b[1+8:], uint32(len(b)-placeHeadLen))
	return b
}

func sealPlace(b []byte) []byte {
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// readPlace returns the values of a place. The caller owns them. change is 0 if the place was never
// written or only partially written.
func readPlace(b []byte) (change uint64, values []stableValue, err error) {
	length := uint64(binary.BigEndian.Uint32(b[1+8:]))
	end := placeHeadLen + length
	if end+checksumLen > uint64(len(b)) || binary.BigEndian.Uint32(b[end:]) != crc32.Checksum(b[:end], castagnoli) {
		return 0, nil, nil
	}
	if err := checkFormat(b); err != nil {
		return 0, nil, err
	}
	change = binary.BigEndian.Uint64(b[1:])
	for rest := b[placeHeadLen:end]; len(rest) > 0; {
		value := stableValue{kind: rest[0]}
		rest = rest[1:]
		for _, to := range []*[]byte{&value.name, &value.record} {
			size, n := binary.Uvarint(rest)
			if n <= 0 || size > uint64(len(rest)-n) {
				return 0, nil, errCutShort
			}
			*to = append([]byte{}, rest[n:n+int(size)]...)
			rest = rest[n+int(size):]
		}
		values = append(values, value)
	}
	return change, values, nil
}

// Close closes the vote file.
func (v *votes) Close() error { return v.file.Close() }
