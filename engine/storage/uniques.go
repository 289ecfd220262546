package storage

import (
	"slices"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage/record"
)

// PutUnique implements queue.Journal.
func (b *Batch) PutUnique(queueID uint32, key queue.KeyHash, k queue.UniqueRef) {
	record.EncodeUnique(&b.enc, k)
	b.set(record.UniqueKey(k.Bucket, queueID, key))
	b.noteUnique(uniqueKey{queueID, key}, uniqueChange{k, true})
}

// DropUnique implements queue.Journal.
func (b *Batch) DropUnique(queueID uint32, key queue.KeyHash, bucket int64) {
	b.delete(record.UniqueKey(bucket, queueID, key))
	b.noteUnique(uniqueKey{queueID, key}, uniqueChange{})
}

// DropUniques implements queue.Journal.
func (b *Batch) DropUniques(bucket int64) {
	b.dropBuckets(record.PrefixUnique, queue.KeptUniques, bucket)
}

type uniqueKey struct {
	queue uint32
	key   queue.KeyHash
}

// uniqueChange is the last change of a unique key that reads may not see yet.
type uniqueChange struct {
	queue.UniqueRef
	put bool // the key was not dropped
}

func (b *Batch) noteUnique(key uniqueKey, c uniqueChange) {
	if b.uniques == nil {
		b.uniques = map[uniqueKey]uniqueChange{}
	}
	b.uniques[key] = c
}

// FindUnique implements queue.Journal.
func (b *Batch) FindUnique(queueID uint32, key queue.KeyHash, buckets []int64) (queue.UniqueRef, bool) {
	if c, found := b.recentUnique(uniqueKey{queueID, key}); found {
		if !c.put || !slices.Contains(buckets, c.Bucket) {
			return queue.UniqueRef{}, false
		}
		return c.UniqueRef, true
	}
	k, found, err := b.store.unique(b.step, queueID, key, buckets)
	b.note(err) // the commit then fails: a key that cannot be read could belong to two tasks
	return k, found
}

func (b *Batch) recentUnique(key uniqueKey) (c uniqueChange, found bool) {
	if c, found := b.uniques[key]; found {
		return c, true
	}
	for i := len(b.flights) - 1; i >= 0; i-- {
		if c, found := b.flights[i].uniques[key]; found {
			return c, true
		}
	}
	return c, false
}
