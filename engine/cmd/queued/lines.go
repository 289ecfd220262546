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
	"google.golang.org/grpc"

	"github.com/pronybench/prony/engine/queuepb"
)

const (
	batchTasksMax = 1_000   // the server's limit
	batchBytesMax = 4 << 20 // of payloads, unless one line alone has more
	refusalsShown = 20
	retryAtLeast  = 10 * time.Millisecond
	linesAheadMax = batchTasksMax
)

// line is one line of the input; the number counts from 1.
type line struct {
	number  uint64
	payload []byte
}

// refusal is a line that the server refused.
type refusal struct {
	Line    uint64 `json:"line"`
	Code    string `json:"code"`
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
}

// tally is what came of the lines.
type tally struct {
	Enqueued   uint64    `json:"enqueued"`
	Duplicates uint64    `json:"duplicates"`
	Refused    uint64    `json:"refused"`
	Unknown    uint64    `json:"unknown"`  // sent and not acknowledged: they may be enqueued
	Refusals   []refusal `json:"refusals"` // the first of those that were refused
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
		if err := f.send(ctx, cancel, api, lines, &result); err != nil {
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
		err = fmt.Errorf("%s refused", count(result.Refused, "line"))
	}
	return errors.Join(err, a.print(result, func(t *table) {
		t.row("ENQUEUED", "DUPLICATES", "REFUSED", "UNKNOWN")
		t.row(result.Enqueued, result.Duplicates, result.Refused, result.Unknown)
		for _, r := range result.Refusals {
			t.row(fmt.Sprintf("line %d: %s", r.Line, inFlags(c, r.Field, r.Message)))
		}
	}))
}

// readLines reads ahead, so that a batch takes what is there and waits for nothing more. The error comes after the
// last line. The reader ends with the input; after ctx it ends with the next line.
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
		return fmt.Errorf("line %d is longer than %d MiB, which no server takes", n+1, payloadBytesMax>>20)
	}
	if s.Err() != nil {
		return fmt.Errorf("read line %d: %w", n+1, s.Err())
	}
	return nil
}

type produceStream = grpc.BidiStreamingClient[queuepb.ProduceRequest, queuepb.ProduceResponse]

// send enqueues the lines, one batch after the other, so that they keep their order.
func (f *enqueueFlags) send(ctx context.Context, cancel context.CancelFunc, api queuepb.QueueServiceClient, lines <-chan line, result *tally) error {
	stream, err := api.Produce(ctx)
	if err != nil {
		return err
	}
	s := &lineSender{flags: f, stream: stream, cancel: cancel, result: result}
	started := time.Now()
	shown := f.connection.app.during(func() string {
		n := s.done.Load()
		return fmt.Sprintf("%s enqueued, %.0f/s", count(n, "line"), float64(n)/time.Since(started).Seconds())
	})
	defer shown()
	for {
		batch := nextBatch(ctx, lines)
		if len(batch) == 0 {
			break
		}
		if err := s.send(ctx, batch); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := stream.CloseSend(); err != nil {
		return err
	}
	if _, err := stream.Recv(); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// nextBatch waits for a line and takes what else is there; it is empty at the end.
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
	stream produceStream
	cancel context.CancelFunc
	result *tally
	frame  uint64
	done   atomic.Uint64 // lines that are stored
}

// send enqueues a batch and returns when each line of it is stored or refused. Lines that the server has no room for
// just now are sent again when it said to, as long as some of them get in within the timeout.
func (s *lineSender) send(ctx context.Context, batch []line) error {
	clock := &s.flags.connection.app.clock
	patience := clock.Now().Add(s.flags.connection.timeout)
	for len(batch) > 0 {
		answer, err := s.exchange(batch)
		if err != nil {
			s.result.Unknown = uint64(len(batch))
			return err
		}
		left, wait := s.account(batch, answer)
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

// exchange sends one frame and waits for its answer, at most for the timeout.
func (s *lineSender) exchange(batch []line) (*queuepb.EnqueueAnswer, error) {
	s.frame++
	tasks := make([]*queuepb.NewTask, len(batch))
	for i, l := range batch {
		tasks[i] = s.flags.task()
		tasks[i].Payload = l.payload
		if s.flags.key != "" {
			tasks[i].IdempotencyKey = fmt.Sprintf("%s:%d", s.flags.key, l.number)
		}
	}
	late := time.AfterFunc(s.flags.connection.timeout, s.cancel)
	defer late.Stop()
	answer, err := s.roundTrip(tasks)
	if err != nil && !late.Stop() {
		return nil, fmt.Errorf("the server did not answer within %v", s.flags.connection.timeout)
	}
	return answer, err
}

func (s *lineSender) roundTrip(tasks []*queuepb.NewTask) (*queuepb.EnqueueAnswer, error) {
	err := s.stream.Send(&queuepb.ProduceRequest{Tenant: s.flags.connection.tenant, Frame: s.frame, Tasks: tasks})
	if err != nil && !errors.Is(err, io.EOF) { // after io.EOF, Recv says why
		return nil, err
	}
	in, err := s.stream.Recv()
	if errors.Is(err, io.EOF) {
		err = errors.New("the server ended the stream")
	}
	if err != nil {
		return nil, err
	}
	if len(in.GetAnswers()) != 1 || in.GetAnswers()[0].GetFrame() != s.frame {
		return nil, fmt.Errorf("the server did not answer frame %d", s.frame)
	}
	return in.GetAnswers()[0], nil
}

// account counts what an answer says. It returns the lines to send again, and when.
func (s *lineSender) account(batch []line, answer *queuepb.EnqueueAnswer) (left []line, wait time.Duration) {
	stored := uint64(len(batch))
	for _, e := range answer.GetErrors() {
		if int(e.GetIndex()) >= len(batch) {
			continue
		}
		stored--
		l := batch[e.GetIndex()]
		if e.GetCode() == queuepb.ErrorCode_ERROR_CODE_RESOURCE_EXHAUSTED {
			left = append(left, l)
			wait = max(wait, time.Duration(min(e.GetRetryAfterMs(), uint64(time.Minute.Milliseconds())))*time.Millisecond, retryAtLeast)
			continue
		}
		s.result.Refused++
		if len(s.result.Refusals) < refusalsShown {
			s.result.Refusals = append(s.result.Refusals, refusal{l.number, codeName(e.GetCode()), e.GetField(), e.GetMessage()})
		}
	}
	duplicates := uint64(len(answer.GetDuplicates()))
	s.result.Duplicates += duplicates
	s.result.Enqueued += stored - min(stored, duplicates)
	s.done.Add(stored)
	return left, wait
}
