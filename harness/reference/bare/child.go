package bare

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/pronybench/prony/harness/proc/dialogue"
)

const (
	// command is the only argument of both processes.
	command = "bare"
	// roleEnv selects the role of a process. It is set only for the two processes, so that the
	// argument is not a command of users.
	roleEnv  = "PRONY_BARE_ROLE"
	asServer = "server"
	asClient = "client"
	// commandFinish is the last command that a process executes.
	commandFinish = "finish"
)

// IsChild reports whether a command line belongs to a child process of Measure.
func IsChild(args []string) bool {
	return len(args) == 2 && args[1] == command && os.Getenv(roleEnv) != ""
}

// Main runs a child process and returns its exit code: 0 if its parent ended it and nothing failed.
func Main(ctx context.Context, in io.Reader, out, errOut io.Writer) int {
	if err := act(ctx, os.Getenv(roleEnv), in, out); err != nil {
		_, _ = fmt.Fprintln(errOut, err)
		return 1
	}
	return 0
}

// act executes the commands of the parent until the last one, or until the input or ctx ends.
func act(ctx context.Context, role string, in io.Reader, out io.Writer) (err error) {
	switch role {
	case asServer:
		s := &serverSide{}
		return execute(ctx, in, out, s.stop, func(ctx context.Context) dialogue.Commands {
			return dialogue.Commands{"serve": dialogue.Do(func(_ context.Context, a serveArguments) (serving, error) { return s.serve(ctx, a) })}
		})
	case asClient:
		c := &clientSide{}
		return execute(ctx, in, out, c.stop, func(ctx context.Context) dialogue.Commands {
			return dialogue.Commands{
				"connect": dialogue.Do(func(_ context.Context, a connectArguments) (dialogue.None, error) {
					return dialogue.None{}, c.connect(ctx, a)
				}),
				"measure": dialogue.Do(c.measure),
			}
		})
	}
	return fmt.Errorf("%s is %q: it must be %s or %s", roleEnv, role, asServer, asClient)
}

// execute executes commands. The last one stops the effects of the others.
func execute(ctx context.Context, in io.Reader, out io.Writer, stop func() error, commands func(context.Context) dialogue.Commands) error {
	stopped := false
	err := dialogue.Serve(ctx, in, out, func(ctx context.Context) dialogue.Commands {
		all := commands(ctx)
		all[commandFinish] = dialogue.Do(func(context.Context, dialogue.None) (dialogue.None, error) {
			stopped = true
			return dialogue.None{}, stop()
		})
		return all
	}, func(do string, _ error) (bool, error) { return do == commandFinish, nil })
	if !stopped {
		_ = stop() // the parent has ended
	}
	return err
}
