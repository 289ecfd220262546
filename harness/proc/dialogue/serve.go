package dialogue

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Commands maps names to the commands of a process. Each function receives the arguments of the
// command and returns its result.
type Commands map[string]func(context.Context, json.RawMessage) (any, error)

// Do converts a function with typed arguments to a command.
func Do[A, D any](do func(context.Context, A) (D, error)) func(context.Context, json.RawMessage) (any, error) {
	return func(ctx context.Context, data json.RawMessage) (any, error) {
		var arguments A
		if len(data) > 0 {
			if err := json.Unmarshal(data, &arguments); err != nil {
				return nil, fmt.Errorf("read the arguments: %w", err)
			}
		}
		return do(ctx, arguments)
	}
}

// None is used as the type of missing arguments and of empty results.
type None struct{}

// Serve reads commands from in, executes them, and writes their answers to out. It first calls
// commands with a context that is cancelled when in ends or ctx is done. The cancellation also ends
// a command in progress. If a command fails, its answer contains the error. After each command
// Serve calls over, which reports whether the command was the last one. In that case Serve returns
// the error of over. Serve also returns if CommandHello fails, and when the context of the commands
// is done. The goroutine that reads in may outlive Serve until in ends.
func Serve(ctx context.Context, in io.Reader, out io.Writer, commands func(context.Context) Commands, over func(do string, failed error) (bool, error)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c := commands(ctx)
	lines := make(chan []byte)
	go read(ctx, in, lines, cancel)
	for {
		var line []byte
		select {
		case line = <-lines:
		case <-ctx.Done():
			return ended(ctx)
		}
		r, done, failed := c.execute(ctx, line)
		if err := write(out, r.Call, done, failed); err != nil {
			return err
		}
		if r.Do == CommandHello && failed != nil {
			return failed
		}
		if ctx.Err() != nil {
			return ended(ctx)
		}
		if last, err := over(r.Do, failed); last {
			return err
		}
	}
}

// errInputEnded is the cause of the cancellation when the input ends.
var errInputEnded = errors.New("the input has ended")

// ended returns the reason why Serve ends without a last command. It returns nil if the input has
// ended.
func ended(ctx context.Context) error {
	if cause := context.Cause(ctx); !errors.Is(cause, errInputEnded) {
		return cause
	}
	return nil
}

// read sends each line of in to lines. When in ends, it calls cancel.
func read(ctx context.Context, in io.Reader, lines chan<- []byte, cancel context.CancelCauseFunc) {
	scanner := bufio.NewScanner(in)
	scanner.Buffer(nil, LineBytesMax)
	for scanner.Scan() {
		select {
		case lines <- bytes.Clone(scanner.Bytes()):
		case <-ctx.Done():
			return
		}
	}
	if err := scanner.Err(); err != nil {
		cancel(fmt.Errorf("read a command: %w", err))
		return
	}
	cancel(errInputEnded)
}

func (c Commands) execute(ctx context.Context, line []byte) (r Request, done any, err error) {
	if err := json.Unmarshal(line, &r); err != nil {
		return r, nil, fmt.Errorf("read a command: %w", err)
	}
	command := c[r.Do]
	if command == nil {
		return r, nil, fmt.Errorf("unknown command %q; it must be one of %s", r.Do, strings.Join(slices.Sorted(maps.Keys(c)), ", "))
	}
	if done, err = command(ctx, r.With); err != nil {
		return r, nil, fmt.Errorf("%s: %w", r.Do, err)
	}
	return r, done, nil
}

func write(out io.Writer, call uint64, done any, failed error) error {
	a := Answer{Call: call}
	if failed != nil {
		a.Error = failed.Error()
	} else {
		var err error
		if a.Done, err = json.Marshal(done); err != nil {
			return fmt.Errorf("write an answer: %w", err)
		}
	}
	if err := json.NewEncoder(out).Encode(a); err != nil { // writes one line
		return fmt.Errorf("write an answer: %w", err)
	}
	return nil
}
