package generator

import (
	"context"
	"errors"
	"io"

	"github.com/pronybench/prony/harness/driver/open"
	"github.com/pronybench/prony/harness/proc/dialogue"
)

// commandFinish is the last command that a generator executes.
const commandFinish = "finish"

// commands returns what a generator can do. Its load ends with ctx.
func (s *session) commands(ctx context.Context) dialogue.Commands {
	s.ctx = ctx
	return dialogue.Commands{
		"open":        dialogue.Do(s.open),
		"slice":       dialogue.Do(s.slice),
		"open_slice":  dialogue.Do(s.openSlice),
		"noop_open":   dialogue.Do(s.noopOpen),
		"noop_slice":  dialogue.Do(s.noopSlice),
		"work":        dialogue.Do(s.work),
		"profile":     dialogue.Do(s.profile),
		commandFinish: dialogue.Do(s.finish),
	}
}

// Serve executes the commands that it reads from in, writes their answers to out, and returns after the command finish, when in ends,
// or when ctx is done, which also ends a command under way. dial returns what opens the connections of a spec; nil of a driver that is
// not known. A command that fails is answered with its error; Serve goes on unless the load could not be opened. The reading of in
// may outlast Serve until in ends.
func Serve(ctx context.Context, in io.Reader, out io.Writer, dial func(Spec) open.Dialer) (err error) {
	s := &session{dial: dial}
	defer func() { err = errors.Join(err, s.close()) }()
	return dialogue.Serve(ctx, in, out, s.commands, func(do string, failed error) (bool, error) {
		if failed != nil && s.load == nil {
			return true, failed
		}
		return do == commandFinish, nil
	})
}
