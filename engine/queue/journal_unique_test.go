package queue

import "maps"

// uniqueEntry is the key of the record of a unique key.
type uniqueEntry struct {
	bucket int64
	queue  uint32
	key    KeyHash
}

func (j *mapJournal) PutUnique(queue uint32, key KeyHash, k UniqueRef) {
	for at := range j.uniques {
		if at.queue == queue && at.key == key && at.bucket != k.Bucket {
			j.broken("unique key %x of queue %d is put into bucket %d and is in bucket %d", key, queue, k.Bucket, at.bucket)
		}
	}
	j.uniques[uniqueEntry{k.Bucket, queue, key}] = k
}

func (j *mapJournal) DropUnique(queue uint32, key KeyHash, bucket int64) {
	at := uniqueEntry{bucket, queue, key}
	if _, ok := j.uniques[at]; !ok {
		j.broken("unique key %v is dropped and does not exist", at)
	}
	delete(j.uniques, at)
}

func (j *mapJournal) DropUniques(bucket int64) {
	j.noUniques = bucket
	maps.DeleteFunc(j.uniques, func(k uniqueEntry, _ UniqueRef) bool { return k.bucket <= bucket })
	j.dropSums(KeptUniques, bucket)
}

func (j *mapJournal) FindUnique(queue uint32, key KeyHash, buckets []int64) (k UniqueRef, found bool) {
	for _, bucket := range buckets {
		if bucket <= j.noUniques {
			j.broken("a unique key is looked up in the dropped bucket %d", bucket)
		}
		if k, found := j.uniques[uniqueEntry{bucket, queue, key}]; found {
			return k, true
		}
	}
	return k, false
}
