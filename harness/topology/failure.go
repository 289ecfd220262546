package topology

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pronybench/prony/harness/proc"
)

// ServerError describes a failure of a server.
type ServerError struct {
	Problem string
	Command []string
	Status  string   // exit status, or "running"
	LogPath string   // complete log; "" for an attached server, whose log is elsewhere
	Lines   []string // last lines of the log, oldest first, at most 20
	Err     error    // the cause, if any
}

// Error returns several lines: the problem, the command, the status and the last log lines.
func (e *ServerError) Error() string {
	var b strings.Builder
	b.WriteString(e.Problem)
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	fmt.Fprintf(&b, "\n  command: %s\n  status: %s", strings.Join(e.Command, " "), e.Status)
	if e.LogPath != "" {
		b.WriteString("\n" + proc.LogText(e.LogPath, e.Lines))
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *ServerError) Unwrap() error { return e.Err }

// fail returns an error for a problem of the server in its current state.
func (n *Node) fail(problem string, cause error) *ServerError {
	if n.server.ID != "" {
		problem = n.server.ID + ": " + problem
	}
	e := &ServerError{Problem: problem, Command: n.command, Status: n.process.Status(), LogPath: n.server.logPath, Err: cause}
	if err := n.process.Err(); err != nil {
		e.Err = errors.Join(e.Err, err)
	}
	if n.server.cluster.config.Topology.Attached() {
		e.LogPath = ""
		return e
	}
	lines, err := n.LastLines(proc.ErrorLines)
	e.Lines = lines
	if err != nil {
		e.Err = errors.Join(e.Err, err)
	}
	return e
}
