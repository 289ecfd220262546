package storage

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Holding is what a store was found to hold.
type Holding struct {
	Queues uint64
	Tasks  uint64 // that are not done
}

// VerifyStore opens the store in a folder, which no server may hold, and reads all of it: blocks must match their
// checksums, records must decode and agree with each other, and so must each queue's counters and tasks. The error
// names what does not, up to 20 problems of it. It writes nothing but the store's lock.
func VerifyStore(ctx context.Context, dir string) (h Holding, err error) {
	s, err := Open(dir, Options{Durability: Sync, ReadOnly: true})
	if err != nil {
		return h, err
	}
	defer closeAfter(s, &err)
	if _, err := s.Recover(); err != nil {
		return h, fmt.Errorf("the store in %s: %w", dir, err)
	}
	if err := s.readAll(ctx); err != nil {
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
			problems = append(problems, fmt.Errorf("the store in %s: queue %s of tenant %s counts %d tasks (%d ready, %d delayed, %d leased, %d dead) and has %d",
				dir, q.Name, q.Tenant, counted, q.Counted.Ready, q.Counted.Delayed, c.Leased, c.Dead, q.Stored))
		}
	}
	if len(problems) == 0 {
		found, err := s.Contradictions(ctx, problemsMax)
		if err != nil {
			return h, fmt.Errorf("the store in %s: %w", dir, err)
		}
		for _, f := range found {
			problems = append(problems, fmt.Errorf("the store in %s: %s", dir, f))
		}
	}
	return h, errors.Join(problems...)
}

// contextEvery is after how many keys a scan looks whether it is still wanted.
const contextEvery = 1_000

// readAll reads every key and value, and decodes the records that Recover does not.
func (s *Store) readAll(ctx context.Context) error {
	n := 0
	return s.scan(nil, nil, func(k, v []byte) (bool, error) {
		if n++; n%contextEvery == 0 && ctx.Err() != nil {
			return false, ctx.Err()
		}
		var err error
		switch k[0] {
		case prefixTask:
			_, _, err = decodeTaskHead(v)
		case prefixProgress:
			_, err = decodeProgress(v)
		case prefixDead:
			_, err = decodeDead(v)
		case prefixAttempt:
			_, err = decodeAttempt(v)
		case prefixKey:
			_, err = decodeKey(v)
		case prefixResult:
			_, err = decodeResult(v)
		case prefixPosition:
			_, err = decodePosition(v)
		}
		if err != nil {
			return false, fmt.Errorf("key %x: %w", k, err)
		}
		return true, nil
	})
}
