// Package fsck reads a whole store and reports damage and contradictions.
//
// Verify opens the store in a folder that no server uses and checks everything: Pebble's checksums,
// the bytes of each record, and the invariants of CheckConsistency. CheckConsistency compares the
// records of an open store with each other in one snapshot; a server or a test may use the store at
// the same time. Both read all tasks, keep only the leases in memory, write no records, and stop
// when their context ends.
//
// Problems are texts that name the queue or task. Verify returns the first 20 problems as one
// error.
package fsck

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pronybench/prony/engine/storage"
	"github.com/pronybench/prony/engine/storage/record"
)

// problemsMax limits the number of problems that an error names.
const problemsMax = 20

// Holding is the number of queues and tasks in a store.
type Holding struct {
	Queues uint64
	Tasks  uint64 // all stored tasks, in any state
}

// Verify opens the store in a folder, which must not be open in a server, and reads all of it. It
// checks that blocks match their checksums, that records can be decoded, and that records, counters
// and tasks agree with each other. The error names up to 20 problems. Verify writes only the
// store's lock file.
func Verify(ctx context.Context, dir string) (h Holding, err error) {
	s, err := storage.Open(dir, storage.Options{Durability: storage.Sync, ReadOnly: true})
	if err != nil {
		return h, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if _, err := s.Recover(); err != nil {
		return h, fmt.Errorf("the store in %s: %w", dir, err)
	}
	if err := readAll(ctx, s); err != nil {
		return h, fmt.Errorf("the store in %s: %w", dir, err)
	}
	audited, err := s.Audit(time.Now().UnixMilli())
	if err != nil {
		return h, fmt.Errorf("the store in %s: %w", dir, err)
	}
	var problems []error
	for _, q := range audited {
		h.Queues++
		h.Tasks += q.Stored
		c := q.Counts
		if counted := c.Fresh + c.Returned + c.Leased + c.Dead; counted != q.Stored && len(problems) < problemsMax {
			problems = append(problems, fmt.Errorf("the store in %s: queue %s of tenant %s counts %d tasks (%d ready, %d delayed, %d leased, %d dead), but has %d",
				dir, q.Name, q.Tenant, counted, q.Counted.Ready, q.Counted.Delayed, c.Leased, c.Dead, q.Stored))
		}
	}
	if len(problems) == 0 {
		found, err := CheckConsistency(ctx, s, problemsMax)
		if err != nil {
			return h, fmt.Errorf("the store in %s: %w", dir, err)
		}
		for _, f := range found {
			problems = append(problems, fmt.Errorf("the store in %s: %s", dir, f))
		}
	}
	return h, errors.Join(problems...)
}

// contextEvery is the number of keys after which a scan checks whether its context has ended.
const contextEvery = 1_000

// readAll reads every key and value, and decodes the records that Recover does not.
func readAll(ctx context.Context, s *storage.Store) (err error) {
	snap := s.Snapshot()
	defer func() { err = errors.Join(err, snap.Close()) }()
	n := 0
	return snap.Scan(nil, func(k, v []byte) (bool, error) {
		if n++; n%contextEvery == 0 && ctx.Err() != nil {
			return false, ctx.Err()
		}
		var err error
		switch k[0] {
		case record.PrefixTask:
			_, _, err = record.DecodeTaskHead(v)
		case record.PrefixProgress:
			_, err = record.DecodeProgress(v)
		case record.PrefixDead:
			_, err = record.DecodeDead(v)
		case record.PrefixAttempt:
			_, err = record.DecodeAttempt(v)
		case record.PrefixNote:
			_, err = record.DecodeNote(v)
		case record.PrefixKey:
			_, err = record.DecodeKey(v)
		case record.PrefixUnique:
			var bucket int64
			var queueID uint32
			if bucket, queueID, _, err = record.ParseUniqueKey(k); err == nil {
				_, err = record.DecodeUnique(bucket, queueID, v)
			}
		case record.PrefixResult:
			_, err = record.DecodeResult(v)
		case record.PrefixFinished:
			var queueID uint32
			if queueID, _, err = record.ParseFinishedKey(k); err == nil {
				_, err = record.DecodeFinished(queueID, v)
			}
		case record.PrefixWaiting, record.PrefixLink:
			err = readPair(k, v)
		case record.PrefixMessage:
			_, err = record.DecodeMessage(v)
		case record.PrefixRuns:
			_, err = record.DecodeRecurringProgress(v)
		}
		if err != nil {
			return false, fmt.Errorf("key %x: %w", k, err)
		}
		return true, nil
	})
}
