package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// answerBytesMax is more than any answer to a call of this driver has: 1,000 tasks of a MiB would not fit a call.
const answerBytesMax = 64 << 20

// leaderHeader is the header of an answer that names the node to which the next requests should go.
const leaderHeader = "Prony-Leader"

// caller makes requests.
type caller struct {
	pool    *pool
	headers string // of all requests
}

// headersOf returns the headers of requests with an access token, or without one if it is empty.
func headersOf(token string) string {
	headers := "Content-Type: application/json\r\n"
	if token != "" {
		headers += "Authorization: Bearer " + token + "\r\n"
	}
	return headers
}

// fullError says that the server did nothing, since it is full.
type fullError struct{ error }

// ask sends a request and returns the answer, whatever its code.
func (c caller) ask(ctx context.Context, method, path string, body []byte) (answer, error) {
	client := c.pool.take()
	defer c.pool.giveBack(client)
	a, err := client.do(ctx, c.pool.base(client), request{method, path, c.headers, body})
	if err != nil {
		if ctx.Err() == nil {
			c.pool.failed(client) // another node may be there; whether this one did anything is not known
		}
		return a, err
	}
	if a.leader != "" {
		c.pool.leads(client, a.leader)
	}
	return a, nil
}

// post sends a body and reads the answer into a value. The error is a fullError where the server says so.
func (c caller) post(ctx context.Context, path string, body []byte, into any) error {
	a, err := c.ask(ctx, http.MethodPost, path, body)
	switch {
	case err != nil:
		return err
	case a.code != http.StatusOK && a.refusedItem() != nil:
		return fmt.Errorf("POST %s: %s: %w", path, a.status, a.refusedItem())
	case a.code == http.StatusTooManyRequests:
		return fullError{a.refusal(http.MethodPost, path)}
	case a.code != http.StatusOK:
		return a.refusal(http.MethodPost, path)
	}
	return a.decode(http.MethodPost, path, into)
}

// refusal returns the error for an HTTP status that the caller did not ask for.
func (a answer) refusal(method, path string) error {
	return fmt.Errorf("%s %s: %s: %s", method, path, a.status, says(a.body))
}

// decode reads the body into a value.
func (a answer) decode(method, path string, into any) error {
	if len(a.body) > answerBytesMax {
		return fmt.Errorf("%s %s: the answer is larger than %d bytes", method, path, answerBytesMax)
	}
	if err := json.Unmarshal(a.body, into); err != nil {
		return fmt.Errorf("%s %s: the answer is not what was expected: %w: %.200q", method, path, err, a.body)
	}
	return nil
}

// says is the message in an error's answer, or the answer as it is.
func says(answer []byte) string {
	var e struct{ Message string }
	if json.Unmarshal(answer, &e) == nil && e.Message != "" {
		return e.Message
	}
	return fmt.Sprintf("%.200s", answer)
}

// refusedItem returns why the only item of a call was refused, or nil if that is not why the call was.
func (a answer) refusedItem() *itemError {
	var refusal struct {
		Details []struct {
			Type string `json:"@type"`
			itemError
		}
	}
	_ = json.Unmarshal(a.body, &refusal) // an answer of a proxy in between may be no JSON, and has no details
	for _, d := range refusal.Details {
		if d.Type == itemErrorType {
			return &d.itemError
		}
	}
	return nil
}

// itemErrorType is the type of the detail of a refusal that says why the only item of the call was refused.
const itemErrorType = "type.googleapis.com/prony.queue.v1.ItemError"

// refusedAll tells a server that refused the only item, or that is full and did nothing, from a call whose outcome is unknown.
func refusedAll(err error, outcomes []error) error {
	var item *itemError
	var full fullError
	switch {
	case errors.As(err, &item) && len(outcomes) == 1:
		outcomes[0] = item
	case errors.As(err, &full):
		for i := range outcomes {
			outcomes[i] = full
		}
	default:
		return err
	}
	return nil
}
