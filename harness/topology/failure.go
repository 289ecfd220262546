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
	Status  string // exit status, or "running"
	// path of the complete log; "" for an attached server, whose log is on another host
	LogPath string
	Lines   []string // last lines of the log, at most 20, oldest first
	Err     error    // cause, or nil
}

// Error returns a text of several lines: the problem, the command, the status and the last lines of
// the log.
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

// fail returns an error that describes a problem and the current state of the server.
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
