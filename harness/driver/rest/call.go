package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// answerBytesMax is more than any answer to a call of this driver has: 1,000 tasks of a MiB would not fit a call.
const answerBytesMax = 64 << 20

// leaderHeader is the header of an answer that names the node to which the next requests should go.
const leaderHeader = "Prony-Leader"

// caller makes requests.
type caller struct {
	pool  *pool
	token string
}

// fullError says that the server did nothing, since it is full.
type fullError struct{ error }

// post sends a body, which it keeps, and reads the answer into a value. The error is a fullError where the server says so.
func (c caller) post(ctx context.Context, path string, body []byte, into any) error {
	client := c.pool.take()
	defer c.pool.giveBack(client)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.pool.base(client)+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	response, err := client.Do(request)
	if err != nil {
		if ctx.Err() == nil {
			c.pool.failed(client) // another node may be there; whether this one did anything is not known
		}
		return err // a *url.Error: it names the method and the URL
	}
	if leader := response.Header.Get(leaderHeader); leader != "" {
		c.pool.leads(client, leader)
	}
	answer, err := io.ReadAll(io.LimitReader(response.Body, answerBytesMax+1))
	if err = errors.Join(err, response.Body.Close()); err != nil {
		return fmt.Errorf("POST %s: %w", path, err)
	}
	switch {
	case response.StatusCode == http.StatusTooManyRequests:
		return fullError{fmt.Errorf("POST %s: %s: %s", path, response.Status, says(answer))}
	case response.StatusCode != http.StatusOK:
		return fmt.Errorf("POST %s: %s: %s", path, response.Status, says(answer))
	case len(answer) > answerBytesMax:
		return fmt.Errorf("POST %s: the answer is larger than %d bytes", path, answerBytesMax)
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return fmt.Errorf("POST %s: the answer is not what was expected: %w: %.200q", path, err, answer)
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

// refusedAll tells a server that is full, and did nothing, from a call whose outcome is unknown.
func refusedAll(err error, outcomes []error) error {
	var full fullError
	if !errors.As(err, &full) {
		return err
	}
	for i := range outcomes {
		outcomes[i] = full
	}
	return nil
}
