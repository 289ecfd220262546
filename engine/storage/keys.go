// Package storage keeps one shard in Pebble: the keyspace, the codecs of its records, commits,
// recovery. See keys.go for the layout and disk/walfs.go for what durability means.
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
//	h queue:4 priority:1 seq:8 attempt:4   how an attempt ended that did not complete the task
//	x queue:4 priority:1 seq:8             dead task; its t, s and h records stay
//	e at:8 queue:4 priority:1 seq:8        index of tasks with a time to live, by its end
//	l batch:8                              lease batch: one record for a whole claim
//	l batch:8 place:2                      until when the batch's task at that place was extended, over the batch's record
//	q queue:4                              queue: name, policy, counters, next seq, cursors
//	k bucket:8 queue:4 key                 idempotency key; buckets are dropped by range
//	r bucket:8 queue:4 priority:1 seq:8    result; the same
//	u kind:1 bucket:8 tenant               what a tenant is charged for the records of a bucket; the same
//	a key                                  the node's own records: tenants, access tokens
//	m                                      the shard's own: format version, next ids
//	n                                      numbers that may have been issued: reserved ids and tokens
//	i                                      how far the log is applied, of a replicated shard
const (
	prefixTask     = 't'
	prefixProgress = 's'
	prefixDue      = 'd'
	prefixAttempt  = 'h'
	prefixDead     = 'x'
	prefixExpiry   = 'e'
	prefixLease    = 'l'
	prefixQueue    = 'q'
	prefixKey      = 'k'
	prefixResult   = 'r'
	prefixSum      = 'u'
	prefixSystem   = 'a'
	prefixMeta     = 'm'
	prefixReserved = 'n'
	prefixPosition = 'i'
)

const (
	refKeyLen = 1 + 4 + 1 + 8
	dueKeyLen = refKeyLen + 8
	// Keys of an index by time, of the whole shard.
	timedKeyLen   = 1 + 8 + (refKeyLen - 1)
	attemptKeyLen = refKeyLen + 4
)

// putTimedKey makes a key of a prefix, a time and a ref. Times are positive.
func putTimedKey(k []byte, prefix byte, atMs int64, ref queue.Ref) {
	k[0] = prefix
	binary.BigEndian.PutUint64(k[1:], uint64(atMs))
	binary.BigEndian.PutUint32(k[9:], ref.Queue)
	k[13] = ref.Priority
	binary.BigEndian.PutUint64(k[14:], ref.Seq)
}

func timedKey(prefix byte, atMs int64, ref queue.Ref) []byte {
	k := make([]byte, timedKeyLen)
	putTimedKey(k, prefix, atMs, ref)
	return k
}

func parseTimedKey(k []byte) (ref queue.Ref, atMs int64, err error) {
	if len(k) != timedKeyLen {
		return ref, 0, fmt.Errorf("key %x has %d bytes, not %d", k, len(k), timedKeyLen)
	}
	ref = queue.Ref{Queue: binary.BigEndian.Uint32(k[9:]), Priority: k[13], Seq: binary.BigEndian.Uint64(k[14:])}
	return ref, int64(binary.BigEndian.Uint64(k[1:])), nil
}

// timePrefix is what all keys of a prefix at a time begin with.
func timePrefix(prefix byte, atMs int64) []byte {
	return binary.BigEndian.AppendUint64([]byte{prefix}, uint64(atMs))
}

func attemptKey(ref queue.Ref, attempt uint32) []byte {
	return binary.BigEndian.AppendUint32(refKey(prefixAttempt, ref), attempt)
}

func keyKey(bucket int64, queueID uint32, key string) []byte {
	return append(binary.BigEndian.AppendUint32(timePrefix(prefixKey, bucket), queueID), key...)
}

func sumKey(s queue.Sum) []byte { return append(sumPrefix(s.Kind, s.Bucket), s.Tenant...) }

// sumPrefix is what all keys of the sums of a bucket begin with.
func sumPrefix(kind queue.Kept, bucket int64) []byte {
	return binary.BigEndian.AppendUint64([]byte{prefixSum, byte(kind)}, uint64(bucket))
}

func parseSumKey(k []byte) (queue.Sum, error) {
	const fixed = 1 + 1 + 8
	if len(k) <= fixed || len(k) > fixed+queue.NameMax {
		return queue.Sum{}, fmt.Errorf("key %x of a bucket's sum has %d bytes, not %d to %d", k, len(k), fixed+1, fixed+queue.NameMax)
	}
	return queue.Sum{Kind: queue.Kept(k[1]), Bucket: int64(binary.BigEndian.Uint64(k[2:])), Tenant: string(k[fixed:])}, nil
}

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

const extensionKeyLen = idKeyLen + 2

// extensionKey sorts after the key of its lease batch, and before that of the next.
func extensionKey(batch uint64, place int) []byte {
	k := make([]byte, idKeyLen, extensionKeyLen)
	putIDKey(k, prefixLease, batch)
	return binary.BigEndian.AppendUint16(k, uint16(place))
}

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
