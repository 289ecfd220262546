package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"

	"github.com/pronybench/prony/engine/version"
)

// app is the environment of a command line. The types that embed it contain the commands.
type app struct {
	in       io.Reader
	out, err io.Writer
	env      []string // the environment variables, as "NAME=value"
	asks     bool     // true if standard input is a terminal: commands may ask for confirmation
	progress bool     // true if standard error is a terminal, where commands show progress

	clock         clock
	progressTimes progressTimes

	interrupted context.Context // ends when the user interrupts the command

	output  format
	started bool // true once the command line was parsed; later errors are not usage errors
}

// clock is the time source of commands that wait. The zero value is the system clock.
type clock struct {
	now   func() time.Time
	pause func(ctx context.Context, d time.Duration) error
}

func (c *clock) Now() time.Time {
	if c.now != nil {
		return c.now()
	}
	return time.Now()
}

// Pause returns nil after d, or the error of ctx if ctx ends earlier.
func (c *clock) Pause(ctx context.Context, d time.Duration) error {
	if c.pause != nil {
		return c.pause(ctx, d)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// format is the output format of results and errors.
type format string

const (
	formatTable format = "table"
	formatJSON  format = "json"
)

func (a *app) execute(ctx context.Context, args []string) int {
	a.interrupted = ctx
	root := a.root()
	root.SetArgs(args)
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	command, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	if !a.started {
		if a.output = formatTable; wantsJSON(args) {
			a.output = formatJSON
		}
		err = usageError{err}
	}
	f := failureOf(err)
	f.Message = inFlags(command, f.Field, f.Message)
	if ctx.Err() != nil && cancelled(err) {
		f = failure{Code: "interrupted", Message: "interrupted", exit: exitInterrupted}
	}
	a.report(f)
	return f.exit
}

// cancelled reports whether err means that this process or the server cancelled the call.
func cancelled(err error) bool {
	s := statusOf(err)
	return errors.Is(err, context.Canceled) || s != nil && s.Code() == codes.Canceled
}

// wantsJSON reports whether a command line that could not be parsed contains --output json.
func wantsJSON(args []string) bool {
	for i, arg := range args {
		switch arg {
		case "--output=json", "-o=json", "-ojson":
			return true
		case "--output", "-o":
			return i+1 < len(args) && args[i+1] == string(formatJSON)
		}
	}
	return false
}

// These are the groups of commands in the help.
const (
	groupServer = "server"
	groupTasks  = "tasks"
	groupAdmin  = "admin"
)

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "queued",
		Short: "A durable task queue server",
		Long: `queued is a durable, multi-tenant task queue server, standalone or as a node of a cluster, and its command-line
client.

Start it with 'queued serve'; it needs no configuration. Then, in another terminal:

  queued enqueue --queue mail 'hello'     prints the task's id
  queued claim --queue mail               prints id, token and payload
  queued complete ID TOKEN

Commands write tables for people, or one JSON document with --output json. Errors go to standard
error, in the same format.

Exit codes:

` + strings.TrimRight(exitCodesText(), "\n"),
		Args:          noArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       version.Of().String(),
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
		PersistentPreRunE: func(c *cobra.Command, _ []string) error {
			if !slices.Contains([]format{formatTable, formatJSON}, a.output) {
				return fmt.Errorf(`--output: %q is neither "table" nor "json"`, a.output)
			}
			if err := missing(c); err != nil {
				return err
			}
			a.started = true
			return nil
		},
	}
	root.PersistentFlags().StringVarP((*string)(&a.output), "output", "o", string(formatTable), "table, or json: one document on standard output, errors as JSON on standard error")
	root.SetUsageFunc(usage)
	root.SetFlagErrorFunc(flagError)
	root.SetVersionTemplate("queued {{.Version}}\n")
	root.AddGroup(
		&cobra.Group{ID: groupServer, Title: "The server:"},
		&cobra.Group{ID: groupTasks, Title: "Tasks:"},
		&cobra.Group{ID: groupAdmin, Title: "Administration:"},
	)
	add := func(group string, commands ...*cobra.Command) {
		for _, c := range commands {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	server, tasks := serverCommands{a}, taskCommands{a}
	add(groupServer, server.serve(), server.config(), server.doctor(), server.probe(), server.restore(), server.version())
	add(groupTasks, tasks.enqueue(), tasks.claim(), tasks.complete(), tasks.fail(), tasks.extend(), tasks.release(), tasks.task(), tasks.result(), tasks.dependencies())
	add(groupAdmin, server.status(), queueCommands{a}.queues(), recurringCommands{a}.recurring(), tasks.tasks(), deadCommands{a}.dead(), tenantCommands{a}.tenants(), clusterCommands{a}.cluster(), server.backup())
	completions{a}.complete(root)
	return root
}

func group(use, short, example string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use: use, Short: short, Example: example, Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(commands...)
	return c
}

func (a *app) variable(name string) (string, bool) {
	for _, v := range slices.Backward(a.env) {
		if n, text, found := strings.Cut(v, "="); found && n == name {
			return text, true
		}
	}
	return "", false
}

// confirm asks for confirmation of an irreversible change. If yes is true, the command line already
// confirms the change. Without a terminal, yes must be true.
func (a *app) confirm(what string, yes bool) error {
	if yes {
		return nil
	}
	if !a.asks {
		return usageError{fmt.Errorf("this would %s, and can't be undone: pass --yes to confirm it", what)}
	}
	a.note("This will %s. It can't be undone. Type yes to continue: ", what)
	answer, err := interruptible(a.interrupted, func() (string, error) {
		return bufio.NewReader(io.LimitReader(a.in, 100)).ReadString('\n')
	})
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read the answer: %w", err)
	}
	if strings.TrimSpace(answer) != "yes" {
		return errors.New("nothing was done: the answer was not yes")
	}
	return nil
}

// note writes a message for people to standard error and ignores write errors.
func (a *app) note(format string, args ...any) { _, _ = fmt.Fprintf(a.err, format, args...) }

func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}
