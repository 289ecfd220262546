package bare

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/pronybench/prony/harness/proc/dialogue"
)

const (
	// command is the only argument of both child processes.
	command = "bare"
	// roleEnv is the environment variable that selects the role of a child process. Only the two
	// child processes have it, so that users cannot run the command by mistake.
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

// Main runs a child process and returns its exit code. The exit code is 0 if the parent ended the
// process and nothing failed.
func Main(ctx context.Context, in io.Reader, out, errOut io.Writer) int {
	if err := act(ctx, os.Getenv(roleEnv), in, out); err != nil {
		_, _ = fmt.Fprintln(errOut, err)
		return 1
	}
	return 0
}

// act executes the commands of the parent. It returns after the last command, when the input ends,
// or when ctx is done.
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

// execute executes commands. The last command calls stop, which ends what the other commands have
// started.
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
