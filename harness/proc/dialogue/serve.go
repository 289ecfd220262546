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

// Commands are the commands of a process, by name. Each gets its arguments and returns its result.
type Commands map[string]func(context.Context, json.RawMessage) (any, error)

// Do makes a command from a function with typed arguments.
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

// None is the type of missing arguments and of empty results.
type None struct{}

// Serve reads commands from in, executes them, and writes their answers to out. It calls commands
// first, with a context that ends when in ends or ctx is done; the end of the context also ends a
// command in progress. A failed command is answered with its error. After each command Serve calls
// over, which reports whether it was the last one; Serve then returns the error of over. Serve also
// returns when the context of the commands has ended. The goroutine that reads in may outlive Serve
// until in ends.
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
		if ctx.Err() != nil {
			return ended(ctx)
		}
		if last, err := over(r.Do, failed); last {
			return err
		}
	}
}

// errInputEnded is the cause when the input is closed.
var errInputEnded = errors.New("the input has ended")

// ended returns why Serve ended early; nil at the end of the input.
func ended(ctx context.Context) error {
	if cause := context.Cause(ctx); !errors.Is(cause, errInputEnded) {
		return cause
	}
	return nil
}

// read sends each line of in to lines, and cancels at the end of in.
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
	if err := json.NewEncoder(out).Encode(a); err != nil { // one line
		return fmt.Errorf("write an answer: %w", err)
	}
	return nil
}
