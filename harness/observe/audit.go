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
	auditTimeout  = time.Minute // long, because the server counts every record that it stores
	auditBytesMax = 16 << 20
)

// Audit is a server's account of its queues. All counts are from one snapshot of the server's
// store.
type Audit struct {
	Queues []QueueAudit
	// Tenants are the tenants whose queues the audit contains. nil means all tenants.
	Tenants []string
}

// QueueAudit is the account of one queue.
type QueueAudit struct {
	Tenant string
	Queue  string
	Counts
}

// Counts are numbers of tasks. Enqueued and Completed include all tasks since the creation of the
// queue. Ready, Leased, Delayed and Dead are the numbers of tasks in the queue, according to its
// counters. Stored is the number of task records in the store, which the server counts one by one.
type Counts struct {
	Enqueued  uint64
	Completed uint64
	Ready     uint64
	Leased    uint64
	Delayed   uint64
	Dead      uint64
	Stored    uint64
}

// Totals returns the sum of the counts of all queues, except queues of the tenants in without.
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

// Since returns the difference between c and earlier counts. The earlier counts must have no
// deliverable tasks. Since returns an error if a counter has decreased.
func (c Counts) Since(before Counts) (Counts, error) {
	if c.Enqueued < before.Enqueued || c.Completed < before.Completed {
		return Counts{}, fmt.Errorf("the server reports %d enqueued and %d completed tasks, expected at least the earlier %d and %d",
			c.Enqueued, c.Completed, before.Enqueued, before.Completed)
	}
	return Counts{
		Enqueued: c.Enqueued - before.Enqueued, Completed: c.Completed - before.Completed,
		Ready: c.Ready - before.Ready, Leased: c.Leased - before.Leased, Delayed: c.Delayed - before.Delayed,
		Dead: c.Dead - before.Dead, Stored: c.Stored - before.Stored,
	}, nil
}

// Deliverable returns the number of tasks that may still be delivered.
func (c Counts) Deliverable() uint64 { return c.Ready + c.Leased + c.Delayed }

// Of returns a copy of the audit that contains only the queues of the given tenants.
func (a Audit) Of(tenants ...string) Audit {
	of := Audit{Tenants: tenants}
	for _, q := range a.Queues {
		if slices.Contains(tenants, q.Tenant) {
			of.Queues = append(of.Queues, q)
		}
	}
	return of
}

// Since compares the audit with an earlier one. It considers only the tenants of the earlier audit.
// It returns the number of tasks that are now in their queues, and the number of tasks that were
// enqueued and completed since the earlier audit. If the counts of a queue are lower than before,
// the queue was removed and created again, so its current counts are used.
func (a Audit) Since(earlier Audit) (sum Counts) {
	now, before := a.Of(earlier.Tenants...), earlier.byQueue()
	sum = now.Totals()
	sum.Enqueued, sum.Completed = 0, 0
	for queue, c := range now.byQueue() {
		if b := before[queue]; c.Enqueued >= b.Enqueued && c.Completed >= b.Completed {
			c.Enqueued, c.Completed = c.Enqueued-b.Enqueued, c.Completed-b.Completed
		}
		sum.Enqueued, sum.Completed = sum.Enqueued+c.Enqueued, sum.Completed+c.Completed
	}
	return sum
}

// byQueue returns the enqueued and completed tasks of each queue. It sums them over shards, because
// each shard has a part of a queue.
func (a Audit) byQueue() map[[2]string]Counts {
	all := map[[2]string]Counts{}
	for _, q := range a.Queues {
		c := all[[2]string{q.Tenant, q.Queue}]
		c.Enqueued, c.Completed = c.Enqueued+q.Enqueued, c.Completed+q.Completed
		all[[2]string{q.Tenant, q.Queue}] = c
	}
	return all
}

// Held returns the number of tasks in the queue, in any state.
func (c Counts) Held() uint64 { return c.Ready + c.Leased + c.Delayed + c.Dead }

// ReadAudit requests a server's audit. If a count is missing or negative, it returns an error
// instead of a count of zero. It takes at most a minute and reads at most 16 MiB.
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

// auditAnswer is the JSON form of an audit. Pointers distinguish a missing value from zero.
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
