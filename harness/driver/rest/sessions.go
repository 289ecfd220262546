package rest

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/pronybench/prony/harness/driver"
)

type producer struct {
	caller
	tenant string // as JSON
}

// taskBytes is about what a task takes beside its payload.
const taskBytes = 64

func (p producer) Enqueue(ctx context.Context, tasks []driver.Task, outcomes []error) error {
	size := taskBytes
	for i := range tasks {
		size += taskBytes + base64.StdEncoding.EncodedLen(len(tasks[i].Payload))
	}
	// The transport may read a body after its request has failed, so each call has its own.
	body := append(make([]byte, 0, size), `{"tenant":`...)
	body = append(body, p.tenant...)
	body = append(body, `,"tasks":[`...)
	for i, t := range tasks {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, `{"queue":`...)
		body = append(body, quote(t.Queue)...)
		body = append(body, `,"payload":"`...)
		body = base64.StdEncoding.AppendEncode(body, t.Payload)
		body = append(body, `"}`...)
	}
	body = append(body, `]}`...)
	var answer results
	if err := p.post(ctx, "/v1/tasks:enqueue", body, &answer); err != nil {
		return refusedAll(err, outcomes)
	}
	return answer.outcome(outcomes)
}

type worker struct {
	caller
	tenant string // as JSON
	claim  []byte // the request up to the number of tasks
}

// lease identifies a claimed task.
type lease struct {
	id    string
	token string
}

func (w worker) Claim(ctx context.Context, into []driver.Delivery) (int, error) {
	body := append(strconv.AppendInt(append(make([]byte, 0, len(w.claim)+8), w.claim...), int64(len(into)), 10), '}')
	for {
		var answer struct {
			Tasks []struct {
				ID, Tenant, Queue string
				Payload           []byte
				// 64-bit numbers, which JSON writes as strings
				Token            json.Number
				LeaseExpiresAtMs json.Number `json:"lease_expires_at_ms"`
			}
		}
		if err := w.post(ctx, "/v1/tasks:claim", body, &answer); err != nil {
			return 0, err
		}
		if len(answer.Tasks) > len(into) {
			return 0, fmt.Errorf("the server handed out %d tasks where %d were asked for", len(answer.Tasks), len(into))
		}
		leases := make([]lease, len(answer.Tasks))
		for i, t := range answer.Tasks {
			leases[i] = lease{t.ID, t.Token.String()}
			into[i] = driver.Delivery{Tenant: t.Tenant, Queue: t.Queue, Payload: t.Payload, Handle: &leases[i]}
			// A token that is not a number is 0 here. The completion fails then, because the server refuses such a token.
			into[i].Token, _ = strconv.ParseUint(t.Token.String(), 10, 64)
			into[i].UntilMs, _ = t.LeaseExpiresAtMs.Int64()
		}
		if len(leases) > 0 {
			return len(leases), nil
		}
	}
}

func (w worker) Complete(ctx context.Context, deliveries []driver.Delivery, outcomes []error) error {
	body := append(make([]byte, 0, taskBytes*(len(deliveries)+1)), `{"tenant":`...)
	body = append(body, w.tenant...)
	body = append(body, `,"completions":[`...)
	for i := range deliveries {
		l, ok := deliveries[i].Handle.(*lease)
		if !ok {
			return fmt.Errorf("delivery of queue %q was not claimed by this driver", deliveries[i].Queue)
		}
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, `{"id":`...)
		body = append(body, quote(l.id)...)
		body = append(body, `,"token":"`...)
		body = append(body, l.token...)
		body = append(body, `"}`...)
	}
	body = append(body, `]}`...)
	var answer results
	if err := w.post(ctx, "/v1/tasks:complete", body, &answer); err != nil {
		return refusedAll(err, outcomes)
	}
	return answer.outcome(outcomes)
}
