// Package record defines the bytes of a shard's store: its keys and records, and their encoding.
//
// A key is a prefix byte followed by big-endian integers, so that keys sort in the order of their
// fields. keys.go lists all kinds of keys. A record is a format byte followed by its fields:
//
//	format 1 byte │ field │ field │ …        unsigned integers: uvarint; signed: varint; texts: length, bytes
//
// An Encoder encodes successive records into one buffer; it is not safe for concurrent use. The
// results of the Decode functions do not share memory with the argument, unless the function's
// comment says that a result is a subslice. They return an error for a newer format, missing bytes,
// superfluous bytes and numbers that are out of range. The error names the format, or the problem
// of the field. Named adds the task to an error.
package record

import (
	"encoding/binary"
	"fmt"

	"github.com/pronybench/prony/engine/queue"
)

// These are the keys of one shard. The number after a field is its length in bytes. A queue id
// always belongs to the same tenant, so tasks of different tenants never have keys with the same
// queue id.
//
//	t queue:4 priority:1 seq:8             task, immutable: set once, single-deleted when done
//	s queue:4 priority:1 seq:8             progress; only of tasks that are delayed or were settled once
//	d queue:4 lane:1 due:8 seq:8           due index: the same tasks by lane and time
//	h queue:4 priority:1 seq:8 attempt:4   end of an attempt that did not complete the task
//	p queue:4 priority:1 seq:8             note of a worker about the task's progress
//	x queue:4 priority:1 seq:8             dead task; its t, s and h records stay
//	e at:8 queue:4 priority:1 seq:8        index of tasks with a time to live, by its end
//	l batch:8                              lease batch: one record for a whole claim
//	l batch:8 place:2                      new expiry of the task at this index in the batch; overrides the batch's record
//	q queue:4                              queue: name, policy, counters, next seq, cursors
//	c queue:4 name                         recurring task: schedule, policies, template
//	f queue:4 name                         progress of a recurring task
//	o queue:4 position:8                   finished task in the history of its queue
//	b queue:4 priority:1 seq:8             what a task waits for, or waited for
//	b queue:4 priority:1 seq:8 id:15       finished task, by its id, that this task waited for
//	w queue:4 priority:1 seq:8             number of the task's links
//	w queue:4 priority:1 seq:8 id:15       link to a task, by its id, that waits for this task
//	g shard:2 seq:8                        message to a shard about tasks that wait for others
//	k bucket:8 queue:4 key                 idempotency key; a bucket is dropped by one range delete
//	v bucket:8 queue:4 hash:16             unique key, by the hash of its text
//	r bucket:8 queue:4 priority:1 seq:8    result; dropped by bucket
//	u kind:1 bucket:8 tenant               bytes that a tenant is charged for the records of a bucket; dropped by bucket
//	a key                                  records of the node: tenants, access tokens
//	m                                      next batch and queue ids of the shard
//	n                                      reserved ids and tokens: lower ones may have been issued
//	y                                      floor: commits that may have records in the log only
//	i                                      last log entry that a replicated shard has applied
const (
	PrefixTask      = 't'
	PrefixProgress  = 's'
	PrefixDue       = 'd'
	PrefixAttempt   = 'h'
	PrefixNote      = 'p'
	PrefixDead      = 'x'
	PrefixExpiry    = 'e'
	PrefixLease     = 'l'
	PrefixQueue     = 'q'
	PrefixFinished  = 'o'
	PrefixWaiting   = 'b'
	PrefixLink      = 'w'
	PrefixMessage   = 'g'
	PrefixKey       = 'k'
	PrefixUnique    = 'v'
	PrefixResult    = 'r'
	PrefixSum       = 'u'
	PrefixRecurring = 'c'
	PrefixRuns      = 'f'
	PrefixSystem    = 'a'
	PrefixMeta      = 'm'
	PrefixReserved  = 'n'
	PrefixPosition  = 'i'
	PrefixFloor     = 'y'
)

// The lengths of keys in bytes.
const (
	RefKeyLen       = 1 + 4 + 1 + 8
	DueKeyLen       = RefKeyLen + 8
	IDKeyLen        = 1 + 8
	ExtensionKeyLen = IDKeyLen + 2
	timedKeyLen     = 1 + 8 + (RefKeyLen - 1)
	AttemptKeyLen   = RefKeyLen + 4
	finishedKeyLen  = 1 + 4 + 8
	keyKeyMin       = 1 + 8 + 4
	UniqueKeyLen    = 1 + 8 + 4 + len(queue.KeyHash{})
)

func putTimedKey(k []byte, prefix byte, atMs int64, ref queue.Ref) {
	k[0] = prefix
	binary.BigEndian.PutUint64(k[1:], uint64(atMs))
	binary.BigEndian.PutUint32(k[9:], ref.Queue)
	k[13] = ref.Priority
	binary.BigEndian.PutUint64(k[14:], ref.Seq)
}

// TimedKey returns the key of a prefix, a time and a ref. Times must be positive.
func TimedKey(prefix byte, atMs int64, ref queue.Ref) []byte {
	k := make([]byte, timedKeyLen)
	putTimedKey(k, prefix, atMs, ref)
	return k
}

// ParseTimedKey returns the ref and the time of a key from TimedKey.
func ParseTimedKey(k []byte) (ref queue.Ref, atMs int64, err error) {
	if len(k) != timedKeyLen {
		return ref, 0, fmt.Errorf("key %x has %d bytes, expected %d", k, len(k), timedKeyLen)
	}
	ref = queue.Ref{Queue: binary.BigEndian.Uint32(k[9:]), Priority: k[13], Seq: binary.BigEndian.Uint64(k[14:])}
	return ref, int64(binary.BigEndian.Uint64(k[1:])), nil
}

// TimePrefix returns the common prefix of all keys with a prefix byte and a time.
func TimePrefix(prefix byte, atMs int64) []byte {
	return binary.BigEndian.AppendUint64([]byte{prefix}, uint64(atMs))
}

// AttemptKey returns the key of an attempt of a task.
func AttemptKey(ref queue.Ref, attempt uint32) []byte {
	return binary.BigEndian.AppendUint32(RefKey(PrefixAttempt, ref), attempt)
}

// KeyKey returns the key of an idempotency key.
func KeyKey(bucket int64, queueID uint32, key string) []byte {
	return AppendKeyName(appendKeyBucket(make([]byte, 0, keyKeyMin+len(key)), bucket), queueID, key)
}

// AppendKeyKey appends the key of an idempotency key whose name is from AppendKeyName.
func AppendKeyKey(k []byte, bucket int64, name []byte) []byte {
	return append(appendKeyBucket(k, bucket), name...)
}

func appendKeyBucket(k []byte, bucket int64) []byte {
	return binary.BigEndian.AppendUint64(append(k, PrefixKey), uint64(bucket))
}

// AppendKeyName appends the name of an idempotency key, which consists of its queue and the key. In
// every bucket, the name is the last part of the stored key.
func AppendKeyName(b []byte, queueID uint32, key string) []byte {
	return append(binary.BigEndian.AppendUint32(b, queueID), key...)
}

// ParseKeyKey returns the bucket and the name of an idempotency key. The name is a subslice of k.
func ParseKeyKey(k []byte) (bucket int64, name []byte, err error) {
	if len(k) < keyKeyMin {
		return 0, nil, fmt.Errorf("key %x of an idempotency key has %d bytes, expected at least %d", k, len(k), keyKeyMin)
	}
	return int64(binary.BigEndian.Uint64(k[1:])), k[1+8:], nil
}

// UniqueKey returns the key of a unique key.
func UniqueKey(bucket int64, queueID uint32, key queue.KeyHash) []byte {
	k := binary.BigEndian.AppendUint64(append(make([]byte, 0, UniqueKeyLen), PrefixUnique), uint64(bucket))
	return append(binary.BigEndian.AppendUint32(k, queueID), key[:]...)
}

// ParseUniqueKey returns the bucket, the queue and the hash of a unique key.
func ParseUniqueKey(k []byte) (bucket int64, queueID uint32, key queue.KeyHash, err error) {
	if len(k) != UniqueKeyLen {
		return 0, 0, key, fmt.Errorf("key %x of a unique key has %d bytes, expected %d", k, len(k), UniqueKeyLen)
	}
	copy(key[:], k[1+8+4:])
	return int64(binary.BigEndian.Uint64(k[1:])), binary.BigEndian.Uint32(k[1+8:]), key, nil
}

// SumKey returns the key of a tenant's charge for a bucket.
func SumKey(s queue.Sum) []byte { return append(SumPrefix(s.Kind, s.Bucket), s.Tenant...) }

// SumPrefix returns the common prefix of the keys of all sums of a bucket.
func SumPrefix(kind queue.Kept, bucket int64) []byte {
	return binary.BigEndian.AppendUint64([]byte{PrefixSum, byte(kind)}, uint64(bucket))
}

func parseSumKey(k []byte) (queue.Sum, error) {
	const fixed = 1 + 1 + 8
	if len(k) <= fixed || len(k) > fixed+queue.NameMax {
		return queue.Sum{}, fmt.Errorf("key %x of a bucket's sum has %d bytes, expected %d to %d", k, len(k), fixed+1, fixed+queue.NameMax)
	}
	return queue.Sum{Kind: queue.Kept(k[1]), Bucket: int64(binary.BigEndian.Uint64(k[2:])), Tenant: string(k[fixed:])}, nil
}

// PutRefKey writes the key of a prefix and a ref to k, which must be RefKeyLen bytes long.
func PutRefKey(k []byte, prefix byte, ref queue.Ref) {
	k[0] = prefix
	binary.BigEndian.PutUint32(k[1:], ref.Queue)
	k[5] = ref.Priority
	binary.BigEndian.PutUint64(k[6:], ref.Seq)
}

// RefKey returns the key of a prefix and a ref.
func RefKey(prefix byte, ref queue.Ref) []byte {
	k := make([]byte, RefKeyLen)
	PutRefKey(k, prefix, ref)
	return k
}

// PutDueKey writes the key of a Due record to k, which must be DueKeyLen bytes long.
func PutDueKey(k []byte, ref queue.Ref, lane uint8, dueAtMs int64) {
	k[0] = PrefixDue
	binary.BigEndian.PutUint32(k[1:], ref.Queue)
	k[5] = lane
	binary.BigEndian.PutUint64(k[6:], uint64(dueAtMs)^1<<63) // negative times sort first
	binary.BigEndian.PutUint64(k[14:], ref.Seq)
}

// DueKey returns the key of a Due record.
func DueKey(ref queue.Ref, lane uint8, dueAtMs int64) []byte {
	k := make([]byte, DueKeyLen)
	PutDueKey(k, ref, lane, dueAtMs)
	return k
}

// ParseRefKey returns the ref of a key from RefKey.
func ParseRefKey(k []byte) (queue.Ref, error) {
	if len(k) != RefKeyLen {
		return queue.Ref{}, fmt.Errorf("key %x has %d bytes, expected %d", k, len(k), RefKeyLen)
	}
	return queue.Ref{
		Queue:    binary.BigEndian.Uint32(k[1:]),
		Priority: k[5],
		Seq:      binary.BigEndian.Uint64(k[6:]),
	}, nil
}

// DueLanePrefix returns the common prefix of the keys of a lane's Due records.
func DueLanePrefix(queueID uint32, lane uint8) []byte {
	return DueKey(queue.Ref{Queue: queueID}, lane, 0)[:1+4+1]
}

// ParseDueKey returns the ref, the lane and the time of a key from DueKey.
func ParseDueKey(k []byte) (ref queue.Ref, lane uint8, dueAtMs int64, err error) {
	if len(k) != DueKeyLen {
		return ref, 0, 0, fmt.Errorf("key %x has %d bytes, expected %d", k, len(k), DueKeyLen)
	}
	ref.Queue = binary.BigEndian.Uint32(k[1:])
	ref.Priority = queue.LanePriority(k[5])
	ref.Seq = binary.BigEndian.Uint64(k[14:])
	return ref, k[5], int64(binary.BigEndian.Uint64(k[6:]) ^ 1<<63), nil
}

// PutIDKey writes the key of a prefix and an id to k, which must be IDKeyLen bytes long.
func PutIDKey(k []byte, prefix byte, id uint64) {
	k[0] = prefix
	binary.BigEndian.PutUint64(k[1:], id)
}

// ExtensionKey returns the key of an extension. It sorts after the key of its lease batch and
// before the key of the next lease batch.
func ExtensionKey(batch uint64, place int) []byte {
	k := make([]byte, IDKeyLen, ExtensionKeyLen)
	PutIDKey(k, PrefixLease, batch)
	return binary.BigEndian.AppendUint16(k, uint16(place))
}

// QueueKey returns the key of a queue's record.
func QueueKey(id uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte{PrefixQueue}, id)
}

// RecurringKey returns the key of a recurring task: with PrefixRecurring that of its spec, with
// PrefixRuns that of its progress.
func RecurringKey(prefix byte, queueID uint32, name string) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{prefix}, queueID), name...)
}

// ParseRecurringKey returns the queue and the name of a key from RecurringKey.
func ParseRecurringKey(k []byte) (queueID uint32, name string, err error) {
	const head = 1 + 4
	if len(k) <= head || len(k) > head+queue.NameMax {
		return 0, "", fmt.Errorf("key %x of a recurring task has %d bytes, expected %d to %d", k, len(k), head+1, head+queue.NameMax)
	}
	return binary.BigEndian.Uint32(k[1:]), string(k[head:]), nil
}

// FinishedKey returns the key of an entry of a queue's history.
func FinishedKey(queueID uint32, position uint64) []byte {
	k := binary.BigEndian.AppendUint32(append(make([]byte, 0, finishedKeyLen), PrefixFinished), queueID)
	return binary.BigEndian.AppendUint64(k, position)
}

// ParseFinishedKey returns the queue and the position of a key from FinishedKey.
func ParseFinishedKey(k []byte) (queueID uint32, position uint64, err error) {
	if len(k) != finishedKeyLen {
		return 0, 0, fmt.Errorf("key %x of a history has %d bytes, expected %d", k, len(k), finishedKeyLen)
	}
	return binary.BigEndian.Uint32(k[1:]), binary.BigEndian.Uint64(k[1+4:]), nil
}

// QueueID returns the id of a queue from the key of its record.
func QueueID(k []byte) uint32 { return binary.BigEndian.Uint32(k[1:]) }

// IDOf returns the id of a key from PutIDKey, or of a key that begins with one.
func IDOf(k []byte) uint64 { return binary.BigEndian.Uint64(k[1:]) }

// PrefixEnd returns the smallest key after all keys that begin with prefix, or nil if there is no
// such key.
func PrefixEnd(prefix []byte) []byte {
	end := append([]byte(nil), prefix...)
	for i := len(end) - 1; i >= 0; i-- {
		end[i]++
		if end[i] != 0 {
			return end[:i+1]
		}
	}
	return nil // the prefix is all 0xff
}

// Named adds a record and its task to an error. It returns nil if err is nil.
func Named(err error, what string, ref queue.Ref) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s (queue %d, priority %d, seq %d): %w", what, ref.Queue, ref.Priority, ref.Seq, err)
}

// CountsDue reports whether a queue's count of due tasks includes the task with the given seq.
func CountsDue(r *queue.Record, lane uint8, dueAtMs int64, seq uint64) bool {
	if r.Due == nil || lane >= queue.Lanes {
		return false
	}
	c := r.Due[lane]
	return dueAtMs < c.BeforeMs || dueAtMs == c.BeforeMs && seq < c.BeforeSeq
}
