package logs

import (
	"encoding/binary"
	"fmt"
)

// Kinds of keys. The package documentation shows their layout.
const (
	kindEntry  = 'e'
	kindNumber = 'n'
	kindText   = 's'
	kindChange = 'v'

	prefixLen   = 2 + 1
	entryKeyLen = prefixLen + 8
)

func prefix(group uint16, kind byte) []byte {
	return append(binary.BigEndian.AppendUint16(make([]byte, 0, entryKeyLen+1), group), kind)
}

func entryKey(group uint16, index uint64) []byte {
	return binary.BigEndian.AppendUint64(prefix(group, kindEntry), index)
}

func putEntryKey(k []byte, group uint16, index uint64) {
	binary.BigEndian.PutUint16(k, group)
	k[2] = kindEntry
	binary.BigEndian.PutUint64(k[prefixLen:], index)
}

// entryEnd returns the smallest key after the key of the entry with the given index.
func entryEnd(group uint16, index uint64) []byte { return append(entryKey(group, index), 0) }

func entriesEnd(group uint16) []byte { return prefix(group, kindEntry+1) }

func stableKey(group uint16, kind byte, name []byte) []byte {
	return append(prefix(group, kind), name...)
}

func parseEntryKey(k []byte) (index uint64, err error) {
	if len(k) != entryKeyLen {
		return 0, fmt.Errorf("the key %x of an entry has %d bytes, not %d", k, len(k), entryKeyLen)
	}
	return binary.BigEndian.Uint64(k[prefixLen:]), nil
}
