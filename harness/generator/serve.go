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

// commands returns the commands of a generator. The load ends when ctx is done.
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

// Serve reads commands from in, executes them, and writes their answers to out. It returns after
// the command finish, when in ends, or when ctx is done. If ctx is done, a command in progress ends
// too. dial returns the dialer for the connections of a Spec, or nil if the driver is unknown. If a
// command fails, the answer contains its error. Serve then continues if a load is open, and returns
// otherwise. The goroutine that reads in may outlive Serve until in ends.
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
