package observe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pronybench/prony/harness/adminhttp"
)

const (
	auditTimeout  = time.Minute // the server counts every record it stores
	auditBytesMax = 16 << 20
)

// Audit is a server's own account of its queues, taken from one snapshot of its store.
type Audit struct {
	Queues []QueueAudit
}

// QueueAudit is the account of one queue.
type QueueAudit struct {
	Tenant string
	Queue  string
	Counts
}

// Counts are numbers of tasks. Enqueued and Completed count since the queue was created; Ready,
// Leased, Delayed and Dead are the tasks that the counters of the queue say it holds; Stored is how
// many task records were found when they were counted one by one.
type Counts struct {
	Enqueued  uint64
	Completed uint64
	Ready     uint64
	Leased    uint64
	Delayed   uint64
	Dead      uint64
	Stored    uint64
}

// Totals returns the counts summed over all queues of all tenants except those in without.
func (a Audit) Totals(without ...string) Counts {
	var sum Counts
	for _, q := range a.Queues {
		if slices.Contains(without, q.Tenant) {
			continue
		}
		sum.Enqueued += q.Enqueued
		sum.Completed += q.Completed
		sum.Ready += q.Ready
		sum.Leased += q.Leased
		sum.Delayed += q.Delayed
		sum.Dead += q.Dead
		sum.Stored += q.Stored
	}
	return sum
}

// Since returns what was added to earlier counts, whose tasks that could be delivered are gone. It fails if less was counted than before.
func (c Counts) Since(before Counts) (Counts, error) {
	if c.Enqueued < before.Enqueued || c.Completed < before.Completed {
		return Counts{}, fmt.Errorf("the server says %d tasks were enqueued and %d completed, and had said %d and %d before",
			c.Enqueued, c.Completed, before.Enqueued, before.Completed)
	}
	return Counts{
		Enqueued: c.Enqueued - before.Enqueued, Completed: c.Completed - before.Completed,
		Ready: c.Ready - before.Ready, Leased: c.Leased - before.Leased, Delayed: c.Delayed - before.Delayed,
		Dead: c.Dead - before.Dead, Stored: c.Stored - before.Stored,
	}, nil
}

// Deliverable returns how many of the tasks may still be delivered.
func (c Counts) Deliverable() uint64 { return c.Ready + c.Leased + c.Delayed }

// ReadAudit asks a server for its audit. An answer
// in which a count is missing or negative is an error: a count that is not there must not pass for
// zero. It takes at most a minute and 16 MiB.
func ReadAudit(ctx context.Context, admin adminhttp.Client) (Audit, error) {
	body, err := admin.Get(ctx, "/audit", auditTimeout, auditBytesMax)
	if err != nil {
		return Audit{}, fmt.Errorf("read audit: %w", err)
	}
	audit, err := parseAudit(body)
	if err != nil {
		return Audit{}, fmt.Errorf("read audit of %s: %w", admin.Address, err)
	}
	return audit, nil
}

// auditAnswer is the wire form. Pointers tell a missing value from a zero.
type auditAnswer struct {
	Queues *[]queueAnswer `json:"queues"`
}

type queueAnswer struct {
	Tenant    *string `json:"tenant"`
	Queue     *string `json:"queue"`
	Enqueued  *uint64 `json:"enqueued"`
	Completed *uint64 `json:"completed"`
	Ready     *uint64 `json:"ready"`
	Leased    *uint64 `json:"leased"`
	Delayed   *uint64 `json:"delayed"`
	Dead      *uint64 `json:"dead"`
	Stored    *uint64 `json:"stored"`
}

func parseAudit(body []byte) (Audit, error) {
	var answer auditAnswer
	if err := json.Unmarshal(body, &answer); err != nil {
		return Audit{}, err
	}
	if answer.Queues == nil {
		return Audit{}, errors.New(`the answer has no "queues"`)
	}
	audit := Audit{Queues: make([]QueueAudit, 0, len(*answer.Queues))}
	for i, q := range *answer.Queues {
		if q.Tenant == nil || q.Queue == nil {
			return Audit{}, fmt.Errorf(`queues[%d] has no "tenant" or no "queue"`, i)
		}
		row := QueueAudit{Tenant: *q.Tenant, Queue: *q.Queue}
		for _, field := range []struct {
			name string
			from *uint64
			to   *uint64
		}{
			{"enqueued", q.Enqueued, &row.Enqueued},
			{"completed", q.Completed, &row.Completed},
			{"ready", q.Ready, &row.Ready},
			{"leased", q.Leased, &row.Leased},
			{"delayed", q.Delayed, &row.Delayed},
			{"dead", q.Dead, &row.Dead},
			{"stored", q.Stored, &row.Stored},
		} {
			if field.from == nil {
				return Audit{}, fmt.Errorf("queues[%d] (tenant %q, queue %q) has no %q", i, row.Tenant, row.Queue, field.name)
			}
			*field.to = *field.from
		}
		audit.Queues = append(audit.Queues, row)
	}
	return audit, nil
}
