// Command queued is the queue server and its command-line client.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, release := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, release) // the second signal then kills the process
	a := &app{
		in: os.Stdin, out: os.Stdout, err: os.Stderr, env: os.Environ(),
		asks: isTerminal(os.Stdin) && isTerminal(os.Stderr), progress: isTerminal(os.Stderr),
	}
	os.Exit(a.execute(ctx, os.Args[1:]))
}
