package generator

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

	"github.com/pronybench/prony/harness/driver/open"
)

// commandFinish is the last command that a generator executes.
const commandFinish = "finish"

// commands are what a generator can do, by name. Each is called with its arguments and returns what it answers.
var commands = map[string]func(context.Context, *session, json.RawMessage) (any, error){
	"open":        with((*session).open),
	"slice":       with((*session).slice),
	"open_slice":  with((*session).openSlice),
	"noop_open":   with((*session).noopOpen),
	"noop_slice":  with((*session).noopSlice),
	"work":        with((*session).work),
	"profile":     with((*session).profile),
	commandFinish: with((*session).finish),
}

// with makes a command of a function whose arguments are of one type.
func with[A, D any](do func(*session, context.Context, A) (D, error)) func(context.Context, *session, json.RawMessage) (any, error) {
	return func(ctx context.Context, s *session, data json.RawMessage) (any, error) {
		var arguments A
		if len(data) > 0 {
			if err := json.Unmarshal(data, &arguments); err != nil {
				return nil, fmt.Errorf("read the arguments: %w", err)
			}
		}
		return do(s, ctx, arguments)
	}
}

// Serve executes the commands that it reads from in, writes their answers to out, and returns after the command finish, when in ends,
// or when ctx is done, which also ends a command under way. dial returns what opens the connections of a spec; nil of a driver that is
// not known. A command that fails is answered with its error; Serve goes on unless the load could not be opened. The reading of in
// may outlast Serve until in ends.
func Serve(ctx context.Context, in io.Reader, out io.Writer, dial func(Spec) open.Dialer) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s := &session{ctx: ctx, dial: dial}
	defer func() { err = errors.Join(err, s.close()) }()
	lines := make(chan []byte)
	go read(ctx, in, lines, cancel)
	for {
		var line []byte
		select {
		case line = <-lines:
		case <-ctx.Done():
			return ended(ctx)
		}
		do, done, failed := s.execute(ctx, line)
		if err := write(out, done, failed); err != nil {
			return err
		}
		switch {
		case ctx.Err() != nil:
			return ended(ctx)
		case failed != nil && s.load == nil:
			return failed
		case do == commandFinish:
			return nil
		}
	}
}

// errInputEnded is why a generator whose input is closed ends.
var errInputEnded = errors.New("the input has ended")

// ended returns why Serve ended early; nil at the end of the input.
func ended(ctx context.Context) error {
	if cause := context.Cause(ctx); !errors.Is(cause, errInputEnded) {
		return cause
	}
	return nil
}

// read sends each line of in, and cancels when in ends.
func read(ctx context.Context, in io.Reader, lines chan<- []byte, cancel context.CancelCauseFunc) {
	scanner := bufio.NewScanner(in)
	scanner.Buffer(nil, lineBytesMax)
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

// execute executes the command of a line.
func (s *session) execute(ctx context.Context, line []byte) (do string, done any, err error) {
	var r request
	if err := json.Unmarshal(line, &r); err != nil {
		return "", nil, fmt.Errorf("read a command: %w", err)
	}
	command := commands[r.Do]
	if command == nil {
		return r.Do, nil, fmt.Errorf("command %q; it must be one of %s", r.Do, strings.Join(slices.Sorted(maps.Keys(commands)), ", "))
	}
	if done, err = command(ctx, s, r.With); err != nil {
		return r.Do, nil, fmt.Errorf("%s: %w", r.Do, err)
	}
	return r.Do, done, nil
}

// write writes an answer.
func write(out io.Writer, done any, failed error) error {
	var a answer
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
