package topology

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

const (
	// errorLines is how many of the log's last lines an error carries.
	errorLines = 20
	// tailBytesMax is how much of the log's end is looked at for its last lines.
	tailBytesMax = 64 << 10
)

// ServerError says what went wrong with a server, with what is needed to understand it.
type ServerError struct {
	Problem string
	Command []string
	Status  string   // its exit status, or that it was running
	LogPath string   // the whole log
	Lines   []string // the log's last lines, oldest first, at most 20
	Err     error    // the cause where there is one
}

// Error returns several lines: the problem, the command, the status and the last log lines.
func (e *ServerError) Error() string {
	var b strings.Builder
	b.WriteString(e.Problem)
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	fmt.Fprintf(&b, "\n  command: %s\n  status: %s", strings.Join(e.Command, " "), e.Status)
	if len(e.Lines) == 0 {
		fmt.Fprintf(&b, "\n  log: %s (empty)", e.LogPath)
		return b.String()
	}
	fmt.Fprintf(&b, "\n  log: %s, which ends with", e.LogPath)
	for _, line := range e.Lines {
		b.WriteString("\n    " + line)
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *ServerError) Unwrap() error { return e.Err }

// fail describes a problem of the server as it stands.
func (n *Node) fail(problem string, cause error) *ServerError {
	if n.server.ID != "" {
		problem = n.server.ID + ": " + problem
	}
	e := &ServerError{Problem: problem, Command: n.command, Status: "running", LogPath: n.server.logPath, Err: cause}
	select {
	case <-n.process.done():
		e.Status = n.process.status()
		if _, told := errors.AsType[*exec.ExitError](n.process.failure()); !told {
			e.Err = errors.Join(e.Err, n.process.failure())
		}
	default:
	}
	lines, err := n.LastLines(errorLines)
	e.Lines = lines
	if err != nil {
		e.Err = errors.Join(e.Err, err)
	}
	return e
}

// lastLines returns the last lines of a file, at most count, looking at its last 64 KiB only.
func lastLines(path string, count int) ([]string, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the server's log: %w", err)
	}
	defer func() { _ = file.Close() }() // only read
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("read the server's log: %w", err)
	}
	from := max(0, info.Size()-tailBytesMax)
	data, err := io.ReadAll(io.NewSectionReader(file, from, tailBytesMax))
	if err != nil {
		return nil, fmt.Errorf("read the server's log: %w", err)
	}
	text := strings.TrimRight(string(data), "\n")
	if text == "" {
		return nil, nil
	}
	lines := strings.Split(text, "\n")
	return lines[max(0, len(lines)-max(0, count)):], nil
}
