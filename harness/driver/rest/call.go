package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// answerBytesMax exceeds the size of any answer that this driver gets: 1,000 tasks of a MiB do not
// fit into one call.
const answerBytesMax = 64 << 20

// leaderHeader is the header of an answer that names the node for further requests.
const leaderHeader = "Prony-Leader"

type caller struct {
	pool    *pool
	headers string // of every request
}

// headersOf returns the headers of requests. An empty token adds no authorization.
func headersOf(token string) string {
	headers := "Content-Type: application/json\r\n"
	if token != "" {
		headers += "Authorization: Bearer " + token + "\r\n"
	}
	return headers
}

// fullError reports that the server is full and did nothing.
type fullError struct{ error }

// ask sends a request and returns the answer with any status code.
func (c caller) ask(ctx context.Context, method, path string, body []byte) (answer, error) {
	client := c.pool.take()
	defer c.pool.giveBack(client)
	a, err := client.do(ctx, c.pool.base(client), request{method, path, c.headers, body})
	if err != nil {
		if ctx.Err() == nil {
			c.pool.failed(client) // another node may answer; the outcome at this one is unknown
		}
		return a, err
	}
	if a.leader != "" {
		c.pool.leads(client, a.leader)
	}
	return a, nil
}

// post sends a body and decodes the answer. The error is a fullError if the server is full.
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

func (a answer) refusal(method, path string) error {
	return fmt.Errorf("%s %s: %s: %s", method, path, a.status, says(a.body))
}

func (a answer) decode(method, path string, into any) error {
	if len(a.body) > answerBytesMax {
		return fmt.Errorf("%s %s: the answer is larger than %d bytes", method, path, answerBytesMax)
	}
	if err := json.Unmarshal(a.body, into); err != nil {
		return fmt.Errorf("%s %s: decode the answer: %w: %.200q", method, path, err, a.body)
	}
	return nil
}

// says returns the message of an error answer, or the answer as it is.
func says(answer []byte) string {
	var e struct{ Message string }
	if json.Unmarshal(answer, &e) == nil && e.Message != "" {
		return e.Message
	}
	return fmt.Sprintf("%.200s", answer)
}

// refusedItem returns the reason why the only item of a call was refused; nil if the call failed
// for another reason.
func (a answer) refusedItem() *itemError {
	var refusal struct {
		Details []struct {
			Type string `json:"@type"`
			itemError
		}
	}
	_ = json.Unmarshal(a.body, &refusal) // the answer of a proxy may not be JSON; it has no details
	for _, d := range refusal.Details {
		if d.Type == itemErrorType {
			return &d.itemError
		}
	}
	return nil
}

// itemErrorType is the type of the error detail that contains the reason why the only item of a
// call was refused.
const itemErrorType = "type.googleapis.com/prony.queue.v1.ItemError"

// refusedAll sets the outcomes if the server refused the only item, or if it is full and did
// nothing. It returns other errors: the outcome of their call is unknown.
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
