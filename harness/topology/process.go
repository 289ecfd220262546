package topology

import (
	"os"
	"os/exec"
	"time"

	"github.com/pronybench/prony/harness/proc"
)

// life is what a server runs as: a process of its own, or a part of this one.
type life interface {
	// Done is closed when it has ended.
	Done() <-chan struct{}
	// Signal sends a signal unless it has ended, which is not an error.
	Signal(sig os.Signal) error
	// Kill ends it at once, and returns when it has ended.
	Kill() error
	// Status says in words how it ended, or that it is running.
	Status() string
	// After its end: whether that was in order, what is to be said of it beside the status, and the CPU time that it used of its own.
	Orderly() bool
	Err() error
	CPU() time.Duration
}

// startProcess starts command with both of its outputs going to log.
func startProcess(command, env []string, log *os.File, settings proc.Settings) (*proc.Process, error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(proc.Environ("QUEUED_"), env...) // a scenario says all that counts
	cmd.Stdout, cmd.Stderr = log, log
	return proc.StartWith(settings, cmd)
}
