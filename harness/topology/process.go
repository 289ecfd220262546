package topology

import (
	"os"
	"os/exec"
	"time"

	"github.com/pronybench/prony/harness/proc"
)

// life is the execution of a server: a separate process, or a part of this process.
type life interface {
	// Done is closed when the server has ended.
	Done() <-chan struct{}
	// Signal sends a signal. It returns nil if the server has ended.
	Signal(sig os.Signal) error
	// Kill ends the server immediately, and returns when it has ended.
	Kill() error
	// Status describes how the server ended, or that it is running.
	Status() string
	// The following are valid after the end: whether it was regular, an error in addition to the
	// status, and the CPU time used by a separate process.
	Orderly() bool
	Err() error
	CPU() time.Duration
}

func startProcess(command, env []string, log *os.File, settings proc.Settings) (*proc.Process, error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(proc.Environ("QUEUED_"), env...) // only the scenario configures the server
	cmd.Stdout, cmd.Stderr = log, log
	return proc.StartWith(settings, cmd)
}
