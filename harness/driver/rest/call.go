package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// answerBytesMax is larger than any answer that this driver receives. One call cannot contain 1,000
// tasks of a MiB each.
const answerBytesMax = 64 << 20

// leaderHeader is the header of an answer that contains the node for further requests.
const leaderHeader = "Prony-Leader"

type caller struct {
	pool    *pool
	headers string // sent with every request
}

func headersOf(token string) string {
	headers := "Content-Type: application/json\r\n"
	if token != "" {
		headers += "Authorization: Bearer " + token + "\r\n"
	}
	return headers
}

// fullError reports that the server is full and that the request had no effect.
type fullError struct{ error }

// ask sends a request and returns the answer, whatever its status code is.
func (c caller) ask(ctx context.Context, method, path string, body []byte) (answer, error) {
	client := c.pool.take()
	defer c.pool.giveBack(client)
	a, err := client.do(ctx, c.pool.base(client), request{method, path, c.headers, body})
	if err != nil {
		if ctx.Err() == nil {
			c.pool.failed(client) // another node may answer; the outcome at this node is unknown
		}
		return a, err
	}
	if a.leader != "" {
		c.pool.leads(client, a.leader)
	}
	return a, nil
}

// post sends a body and decodes the answer. If the server is full, the error is a fullError.
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

// says returns the message in an error answer. If there is none, it returns the first 200 bytes of
// the answer.
func says(answer []byte) string {
	var e struct{ Message string }
	if json.Unmarshal(answer, &e) == nil && e.Message != "" {
		return e.Message
	}
	return fmt.Sprintf("%.200s", answer)
}

// refusedItem returns the reason why the only item of a call was refused. It returns nil if the
// call failed for another reason.
func (a answer) refusedItem() *itemError {
	var refusal struct {
		Details []struct {
			Type string `json:"@type"`
			itemError
		}
	}
	_ = json.Unmarshal(a.body, &refusal) // a proxy's answer may not be JSON; it then has no details
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

// refusedAll sets the outcomes and returns nil if the server refused the only item, or if it is
// full and the request had no effect. It returns any other error, which means that the outcome of
// the call is unknown.
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
