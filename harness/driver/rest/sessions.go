package rest

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/pronybench/prony/harness/driver"
)

type producer struct {
	caller
	tenant string // encoded as JSON
}

// taskBytes is the approximate size of a task without its payload.
const taskBytes = 64

func (p producer) Enqueue(ctx context.Context, tasks []driver.Task, outcomes []error) error {
	size := taskBytes
	for i := range tasks {
		size += taskBytes + base64.StdEncoding.EncodedLen(len(tasks[i].Payload))
	}
	body := append(make([]byte, 0, size), `{"tenant":`...)
	body = append(body, p.tenant...)
	body = append(body, `,"tasks":[`...)
	for i, t := range tasks {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, `{"queue":`...)
		body = append(body, quote(t.Queue)...)
		if t.Priority > 0 {
			body = strconv.AppendUint(append(body, `,"priority":`...), uint64(t.Priority), 10)
		}
		body = appendHeaders(body, t.Headers)
		body = appendLife(body, &t)
		body = append(body, `,"payload":"`...)
		body = base64.StdEncoding.AppendEncode(body, t.Payload)
		body = append(body, `"}`...)
	}
	body = append(body, `]}`...)
	var answer results
	if err := p.post(ctx, "/v1/tasks:enqueue", body, &answer); err != nil {
		return refusedAll(err, outcomes)
	}
	for i := range min(len(answer.Results), len(tasks)) {
		tasks[i].ID = answer.Results[i].ID
	}
	return answer.outcome(outcomes)
}

func appendHeaders(body []byte, headers map[string]string) []byte {
	if len(headers) == 0 {
		return body
	}
	before := byte('{')
	body = append(body, `,"headers":`...)
	for key, value := range headers {
		body = append(append(append(body, before), quote(key)...), ':')
		body = append(body, quote(value)...)
		before = ','
	}
	return append(body, '}')
}

// appendLife appends the fields that affect a task after its enqueue: its key, batch, result
// retention, delay and retries.
func appendLife(body []byte, t *driver.Task) []byte {
	if t.Key != "" {
		body = append(append(body, `,"idempotency_key":`...), quote(t.Key)...)
	}
	if t.UntilFinished {
		body = append(body, `,"unique":{"scope":"UNIQUE_SCOPE_UNTIL_FINISHED","conflict":"UNIQUE_CONFLICT_REFUSE"}`...)
	}
	if t.BatchSize > 0 {
		body = strconv.AppendInt(append(body, `,"batch_size":`...), int64(t.BatchSize), 10)
	}
	if t.Batch != "" {
		body = append(append(body, `,"batch":`...), quote(t.Batch)...)
	}
	if t.ResultRetention > 0 {
		body = strconv.AppendInt(append(body, `,"result_retention_ms":`...), t.ResultRetention.Milliseconds(), 10)
	}
	if t.Delay > 0 {
		body = strconv.AppendInt(append(body, `,"delay_ms":`...), t.Delay.Milliseconds(), 10)
	}
	if t.MaxAttempts > 0 {
		body = strconv.AppendUint(append(body, `,"max_attempts":`...), uint64(t.MaxAttempts), 10)
	}
	if ms := t.Backoff.Milliseconds(); ms > 0 {
		body = fmt.Appendf(body, `,"backoff":{"initial_ms":%d,"max_ms":%d}`, ms, ms)
	}
	return body
}

var (
	_ driver.Combiner = worker{}
	_ driver.Failer   = worker{}
	_ driver.Extender = worker{}
	_ driver.Returner = worker{}
)

type worker struct {
	caller
	tenant string // encoded as JSON
	claim  []byte // start of a claim request, up to the value of wait_ms
}

type lease struct {
	id    string
	token string
}

func (w worker) Claim(ctx context.Context, into []driver.Delivery) (int, error) {
	body := append(w.claimOf(len(into), waitMax, 0), '}')
	for {
		var answer claimAnswer
		if err := w.post(ctx, "/v1/tasks:claim", body, &answer); err != nil {
			return 0, err
		}
		if n, err := answer.deliver(into); n > 0 || err != nil {
			return n, err
		}
	}
}

// claimOf returns the start of a claim request. The JSON object is not closed. The slice has room
// for more further bytes.
func (w worker) claimOf(tasks int, wait time.Duration, more int) []byte {
	body := append(make([]byte, 0, len(w.claim)+taskBytes+more), w.claim...)
	body = strconv.AppendInt(body, wait.Milliseconds(), 10)
	body = append(body, `,"max_tasks":`...)
	return strconv.AppendInt(body, int64(tasks), 10)
}

type claimAnswer struct {
	Tasks []struct {
		ID, Tenant, Queue string
		Payload           []byte
		Priority, Attempt uint32
		Headers           map[string]string
		// 64-bit numbers are strings in the JSON encoding.
		Token            json.Number
		LeaseExpiresAtMs json.Number `json:"lease_expires_at_ms"`
	}
	results
}

func (a *claimAnswer) deliver(into []driver.Delivery) (int, error) {
	if len(a.Tasks) > len(into) {
		return 0, fmt.Errorf("the server returned %d tasks for a claim of at most %d", len(a.Tasks), len(into))
	}
	leases := make([]lease, len(a.Tasks))
	for i, t := range a.Tasks {
		leases[i] = lease{t.ID, t.Token.String()}
		into[i] = driver.Delivery{Tenant: t.Tenant, Queue: t.Queue, Payload: t.Payload, Handle: &leases[i], Priority: t.Priority, Headers: t.Headers, Attempt: t.Attempt}
		// A token that is not a number becomes 0. The server refuses a completion with this token.
		into[i].Token, _ = strconv.ParseUint(t.Token.String(), 10, 64)
		into[i].UntilMs, _ = t.LeaseExpiresAtMs.Int64()
	}
	return len(leases), nil
}

// CompleteAndClaim implements driver.Combiner.
func (w worker) CompleteAndClaim(ctx context.Context, done []driver.Delivery, outcomes []error, into []driver.Delivery) (int, error) {
	body, err := appendCompletions(append(w.claimOf(len(into), driver.CombinedWait, taskBytes*(len(done)+1)), ','), done)
	if err != nil {
		return 0, err
	}
	var answer claimAnswer
	if err := w.post(ctx, "/v1/tasks:claim", append(body, '}'), &answer); err != nil {
		return 0, refusedAll(err, outcomes)
	}
	if err := answer.outcome(outcomes); err != nil {
		return 0, err
	}
	return answer.deliver(into)
}

func (w worker) Complete(ctx context.Context, deliveries []driver.Delivery, outcomes []error) error {
	return w.settle(ctx, "/v1/tasks:complete", deliveries, outcomes, appendCompletions)
}

// Fail implements driver.Failer.
func (w worker) Fail(ctx context.Context, deliveries []driver.Delivery, outcomes []error) error {
	return w.settle(ctx, "/v1/tasks:fail", deliveries, outcomes, func(body []byte, deliveries []driver.Delivery) ([]byte, error) {
		return appendLeases(body, `"failures":[`, `,"error":"`+driver.FailedBecause+`"}`, deliveries)
	})
}

// Extend implements driver.Extender.
func (w worker) Extend(ctx context.Context, deliveries []driver.Delivery, lease time.Duration, outcomes []error) error {
	return w.settle(ctx, "/v1/tasks:extend", deliveries, outcomes, func(body []byte, deliveries []driver.Delivery) ([]byte, error) {
		return appendLeases(body, `"extensions":[`, fmt.Sprintf(`,"lease_ms":%d}`, lease.Milliseconds()), deliveries)
	})
}

// settle makes a call that has one item for each delivery. add appends the items to the request.
func (w worker) settle(ctx context.Context, path string, deliveries []driver.Delivery, outcomes []error, add func([]byte, []driver.Delivery) ([]byte, error)) error {
	body := append(make([]byte, 0, taskBytes*(len(deliveries)+1)), `{"tenant":`...)
	body, err := add(append(append(body, w.tenant...), ','), deliveries)
	if err != nil {
		return err
	}
	var answer results
	if err := w.post(ctx, path, append(body, '}'), &answer); err != nil {
		return refusedAll(err, outcomes)
	}
	return answer.outcome(outcomes)
}

func appendCompletions(body []byte, deliveries []driver.Delivery) ([]byte, error) {
	return appendLeases(body, `"completions":[`, `}`, deliveries)
}

// appendLeases appends a list of leases to a request. begin is the start of the field, and end is
// appended after each lease.
func appendLeases(body []byte, begin, end string, deliveries []driver.Delivery) ([]byte, error) {
	body = append(body, begin...)
	for i := range deliveries {
		l, ok := deliveries[i].Handle.(*lease)
		if !ok {
			return nil, fmt.Errorf("delivery of queue %q was not claimed by this driver", deliveries[i].Queue)
		}
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, `{"id":`...)
		body = append(body, quote(l.id)...)
		body = append(body, `,"token":"`...)
		body = append(body, l.token...)
		body = append(body, '"')
		if result := deliveries[i].Result; result != nil {
			body = append(base64.StdEncoding.AppendEncode(append(body, `,"result":"`...), result), '"')
		}
		body = append(body, end...)
	}
	return append(body, ']'), nil
}
