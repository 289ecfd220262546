package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/queuepb"
)

const (
	batchTasksMax = 1_000   // the server's limit of tasks per call
	batchBytesMax = 4 << 20 // bytes of payloads per call; a single line may exceed it
	refusalsShown = 20
	retryAtLeast  = 10 * time.Millisecond
	linesAheadMax = batchTasksMax
)

type line struct {
	number  uint64
	payload []byte
}

type refusal struct {
	Line    uint64 `json:"line"`
	Code    string `json:"code"`
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
}

// tally counts the lines by their outcomes.
type tally struct {
	Enqueued   uint64    `json:"enqueued"`
	Duplicates uint64    `json:"duplicates"`
	Refused    uint64    `json:"refused"`
	Unknown    uint64    `json:"unknown"`  // lines sent and not acknowledged: they may be enqueued
	Refusals   []refusal `json:"refusals"` // the first refusals; at most refusalsShown

	refused queuepb.ErrorCode // the code of the first refusal
}

// refusedLinesError means that the server refused lines. code is the error code of the first
// refusal.
type refusedLinesError struct {
	error
	code queuepb.ErrorCode
}

func (f *enqueueFlags) enqueueLines(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{errors.New("with --lines the payloads are the lines of the input: pass no payload")}
	}
	in, err := f.input()
	if err != nil {
		return err
	}
	result := tally{Refusals: []refusal{}}
	err = f.connection.queueService(c, func(ctx context.Context, api queuepb.QueueServiceClient) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		lines, readErr := readLines(ctx, in)
		if err := f.send(ctx, api, lines, &result); err != nil {
			return err
		}
		return <-readErr
	})
	a := f.connection.app
	switch {
	case err != nil && result.Enqueued+result.Duplicates+result.Refused+result.Unknown == 0:
		return err
	case err != nil && result.Unknown > 0:
		err = fmt.Errorf("%w: %d tasks are enqueued, and %s may be", err, result.Enqueued, count(result.Unknown, "further one"))
	case err != nil && result.Enqueued > 0:
		err = fmt.Errorf("%w: %d tasks are enqueued", err, result.Enqueued)
	case err == nil && result.Refused > 0:
		err = refusedLinesError{fmt.Errorf("%s refused", count(result.Refused, "line")), result.refused}
	}
	return errors.Join(err, a.print(result, func(t *table) {
		t.row("ENQUEUED", "DUPLICATES", "REFUSED", "UNKNOWN")
		t.row(result.Enqueued, result.Duplicates, result.Refused, result.Unknown)
		for _, r := range result.Refusals {
			t.row(fmt.Sprintf("line %d: %s", r.Line, inFlags(c, r.Field, r.Message)))
		}
	}))
}

// readLines reads lines ahead, so that a batch can contain all available lines without waiting.
// After the last line it sends an error, or nil, to the second channel and then closes the first.
// The reader's goroutine ends at the end of the input, or at the first line that it reads after ctx
// has ended.
func readLines(ctx context.Context, in io.ReadCloser) (<-chan line, <-chan error) {
	lines, failed := make(chan line, linesAheadMax), make(chan error, 1)
	go func() {
		defer close(lines)
		failed <- errors.Join(scanLines(ctx, in, lines), in.Close())
	}()
	return lines, failed
}

func scanLines(ctx context.Context, in io.Reader, to chan<- line) error {
	s := bufio.NewScanner(in)
	s.Buffer(make([]byte, 64<<10), payloadBytesMax)
	n := uint64(0)
	for s.Scan() {
		n++
		select {
		case to <- line{n, bytes.Clone(s.Bytes())}:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if errors.Is(s.Err(), bufio.ErrTooLong) {
		return usageError{fmt.Errorf("line %d is longer than %d MiB, the maximum of any server", n+1, payloadBytesMax>>20)}
	}
	if s.Err() != nil {
		return fmt.Errorf("read line %d: %w", n+1, s.Err())
	}
	return nil
}

// send enqueues the lines in batches, one after another, which preserves their order. It can use
// any node, since nodes forward unary calls to the leader.
func (f *enqueueFlags) send(ctx context.Context, api queuepb.QueueServiceClient, lines <-chan line, result *tally) error {
	s := &lineSender{flags: f, api: api, result: result}
	started := time.Now()
	shown := f.connection.app.during(func() string {
		n := s.done.Load()
		return fmt.Sprintf("%s enqueued, %.0f/s", count(n, "line"), float64(n)/time.Since(started).Seconds())
	})
	defer shown()
	for {
		batch := nextBatch(ctx, lines)
		if len(batch) == 0 {
			return ctx.Err()
		}
		if err := s.send(ctx, batch); err != nil {
			return err
		}
	}
}

// nextBatch waits for a line and then adds the other lines that are already available. At the end
// of the input it returns an empty batch.
func nextBatch(ctx context.Context, lines <-chan line) (batch []line) {
	size := 0
	take := func(l line, more bool) bool {
		if more {
			batch = append(batch, l)
			size += len(l.payload)
		}
		return more && len(batch) < batchTasksMax && size < batchBytesMax
	}
	select {
	case l, more := <-lines:
		if !take(l, more) {
			return batch
		}
	case <-ctx.Done():
		return nil
	}
	for {
		select {
		case l, more := <-lines:
			if !take(l, more) {
				return batch
			}
		default:
			return batch
		}
	}
}

type lineSender struct {
	flags  *enqueueFlags
	api    queuepb.QueueServiceClient
	result *tally
	done   atomic.Uint64 // number of stored lines
}

// send enqueues a batch and returns once each line is stored or refused. If the server could not
// store a line because it lacked room or a leader, send repeats the line. It gives up if the server
// accepts no line within the timeout.
func (s *lineSender) send(ctx context.Context, batch []line) error {
	clock := &s.flags.connection.app.clock
	patience := clock.Now().Add(s.flags.connection.timeout)
	for len(batch) > 0 {
		left, wait, err := s.exchange(ctx, batch)
		if err != nil {
			return err
		}
		if len(left) < len(batch) {
			patience = clock.Now().Add(s.flags.connection.timeout)
		}
		if batch = left; len(batch) == 0 {
			break
		}
		if clock.Now().Add(wait).After(patience) {
			return fmt.Errorf("line %d: the server has had no room for %v", batch[0].number, s.flags.connection.timeout)
		}
		if err := clock.Pause(ctx, wait); err != nil {
			return err
		}
	}
	return nil
}

// exchange makes one call and counts its outcomes. It returns the lines to repeat, and the pause
// before repeating them.
func (s *lineSender) exchange(ctx context.Context, batch []line) (left []line, wait time.Duration, err error) {
	tasks := make([]*queuepb.NewTask, len(batch))
	for i, l := range batch {
		tasks[i] = s.flags.task()
		tasks[i].Payload = l.payload
		if s.flags.key != "" {
			tasks[i].IdempotencyKey = fmt.Sprintf("%s:%d", s.flags.key, l.number)
		}
	}
	ctx, cancel := s.flags.connection.bounded(ctx, 0)
	defer cancel()
	out, err := s.api.Enqueue(ctx, &queuepb.EnqueueRequest{Tenant: s.flags.connection.tenant, Tasks: tasks})
	if err == nil && len(out.GetResults()) != len(batch) {
		err = fmt.Errorf("the server answered with %d results to %s", len(out.GetResults()), count(len(batch), "task"))
	}
	if err == nil {
		left, wait, err = s.account(batch, out.GetResults())
		return left, wait, err
	}
	var refused failure
	if status := statusOf(err); status != nil {
		refused.refused(status)
	}
	if refused.RetryAfterMs > 0 {
		return batch, again(refused.RetryAfterMs), nil
	}
	if refused.exit != exitUsage && !errors.Is(err, client.ErrUnavailable) {
		s.result.Unknown = uint64(len(batch))
	}
	return nil, 0, err
}

// again returns the pause before lines are repeated. afterMs is the server's retry delay.
func again(afterMs uint64) time.Duration {
	return max(time.Duration(min(afterMs, uint64(time.Minute.Milliseconds())))*time.Millisecond, retryAtLeast)
}

// account counts the outcomes in an answer. It returns the lines to repeat, and the pause before
// repeating them.
func (s *lineSender) account(batch []line, results []*queuepb.EnqueueResult) (left []line, wait time.Duration, err error) {
	for i, r := range results {
		l, e := batch[i], r.GetError()
		switch e.GetCode() {
		case queuepb.ErrorCode_ERROR_CODE_RESOURCE_EXHAUSTED, queuepb.ErrorCode_ERROR_CODE_NOT_LEADER, queuepb.ErrorCode_ERROR_CODE_UNAVAILABLE:
			left, wait = append(left, l), max(wait, again(e.GetRetryAfterMs()))
			continue
		case queuepb.ErrorCode_ERROR_CODE_UNKNOWN_OUTCOME:
			s.result.Unknown++
			err = fmt.Errorf("line %d: %w", l.number, itemError{e})
			continue
		}
		switch {
		case e != nil:
			s.refuse(l, e)
		case r.GetDuplicate():
			s.result.Duplicates++
			s.done.Add(1)
		default:
			s.result.Enqueued++
			s.done.Add(1)
		}
	}
	return left, wait, err
}

func (s *lineSender) refuse(l line, e *queuepb.ItemError) {
	if s.result.Refused == 0 {
		s.result.refused = e.GetCode()
	}
	s.result.Refused++
	if len(s.result.Refusals) < refusalsShown {
		s.result.Refusals = append(s.result.Refusals, refusal{l.number, codeName(e.GetCode()), e.GetField(), e.GetMessage()})
	}
}
