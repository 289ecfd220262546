// Package storage keeps one shard in Pebble: the keyspace, the codecs of its records, commits,
// recovery. See keys.go for the layout and walfs.go for what durability means.
package storage

import (
	"encoding/binary"
	"fmt"

	"github.com/pronybench/prony/engine/queue"
)

// The keyspace of one shard. Integers are big-endian, so that keys sort as their fields do. A queue
// id belongs to one tenant for ever, so a tenant's tasks are never under another's prefix.
//
//	t queue:4 priority:1 seq:8             task, immutable: set once, single-deleted when done
//	s queue:4 priority:1 seq:8             progress: only for delayed or once settled tasks
//	d queue:4 priority:1 due:8 seq:8       due index: the same tasks by time
//	x queue:4 priority:1 seq:8             dead task; its t and s records stay
//	l batch:8                              lease batch: one record for a whole claim
//	q queue:4                              queue: name, counters, next seq, cursors
//	m                                      the shard's own: format version, next ids
const (
	prefixTask     = 't'
	prefixProgress = 's'
	prefixDue      = 'd'
	prefixDead     = 'x'
	prefixLease    = 'l'
	prefixQueue    = 'q'
	prefixMeta     = 'm'
)

const (
	refKeyLen = 1 + 4 + 1 + 8
	dueKeyLen = refKeyLen + 8
)

func putRefKey(k []byte, prefix byte, ref queue.Ref) {
	k[0] = prefix
	binary.BigEndian.PutUint32(k[1:], ref.Queue)
	k[5] = ref.Priority
	binary.BigEndian.PutUint64(k[6:], ref.Seq)
}

func refKey(prefix byte, ref queue.Ref) []byte {
	k := make([]byte, refKeyLen)
	putRefKey(k, prefix, ref)
	return k
}

func putDueKey(k []byte, ref queue.Ref, dueAtMs int64) {
	k[0] = prefixDue
	binary.BigEndian.PutUint32(k[1:], ref.Queue)
	k[5] = ref.Priority
	binary.BigEndian.PutUint64(k[6:], uint64(dueAtMs)^1<<63) // negative times sort first
	binary.BigEndian.PutUint64(k[14:], ref.Seq)
}

func dueKey(ref queue.Ref, dueAtMs int64) []byte {
	k := make([]byte, dueKeyLen)
	putDueKey(k, ref, dueAtMs)
	return k
}

func parseRefKey(k []byte) (queue.Ref, error) {
	if len(k) != refKeyLen {
		return queue.Ref{}, fmt.Errorf("key %x has %d bytes, not %d", k, len(k), refKeyLen)
	}
	return queue.Ref{
		Queue:    binary.BigEndian.Uint32(k[1:]),
		Priority: k[5],
		Seq:      binary.BigEndian.Uint64(k[6:]),
	}, nil
}

func parseDueKey(k []byte) (ref queue.Ref, dueAtMs int64, err error) {
	if len(k) != dueKeyLen {
		return ref, 0, fmt.Errorf("key %x has %d bytes, not %d", k, len(k), dueKeyLen)
	}
	ref.Queue = binary.BigEndian.Uint32(k[1:])
	ref.Priority = k[5]
	ref.Seq = binary.BigEndian.Uint64(k[14:])
	return ref, int64(binary.BigEndian.Uint64(k[6:]) ^ 1<<63), nil
}

func putIDKey(k []byte, prefix byte, id uint64) {
	k[0] = prefix
	binary.BigEndian.PutUint64(k[1:], id)
}

const idKeyLen = 1 + 8

func queueKey(id uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte{prefixQueue}, id)
}

func queueID(k []byte) uint32 { return binary.BigEndian.Uint32(k[1:]) }

func idOf(k []byte) uint64 { return binary.BigEndian.Uint64(k[1:]) }

// prefixEnd is the key after all keys that begin with prefix.
func prefixEnd(prefix []byte) []byte {
	end := append([]byte(nil), prefix...)
	for i := len(end) - 1; i >= 0; i-- {
		end[i]++
		if end[i] != 0 {
			return end[:i+1]
		}
	}
	return nil // all 0xff: there is no such key
}
