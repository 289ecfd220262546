package topology

import (
	"os"
	"os/exec"
	"time"

	"github.com/pronybench/prony/harness/proc"
)

// life is the execution of a server, either as a separate process or as a part of this process.
type life interface {
	// Done returns a channel that is closed when the server has ended.
	Done() <-chan struct{}
	// Signal sends a signal. It returns nil if the server has ended.
	Signal(sig os.Signal) error
	// Kill ends the server immediately, and returns when it has ended.
	Kill() error
	// Status describes how the server ended, or says that it is running.
	Status() string
	// The following methods may be called only after the end. Orderly reports whether the server
	// ended in order. Err returns an error that Status does not contain, or nil. CPU returns the
	// CPU time that a separate process used.
	Orderly() bool
	Err() error
	CPU() time.Duration
}

func startProcess(command, env []string, log *os.File, settings proc.Settings) (*proc.Process, error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(proc.Environ("QUEUED_"), env...) // only the scenario may configure the server
	cmd.Stdout, cmd.Stderr = log, log
	return proc.StartWith(settings, cmd)
}

// FindServer returns the absolute path of the queued binary. The environment variable PRONY_QUEUED
// has priority, then the binary in the folder of the running program, then bin/queued below the
// working directory.
func FindServer() (string, error) {
	return proc.Binary{Called: "the server", File: "queued", Env: "PRONY_QUEUED", Make: "build", Wanted: "queued"}.Find()
}
