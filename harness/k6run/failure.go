package k6run

import (
	"fmt"
	"strings"

	"github.com/pronybench/prony/harness/proc"
)

// Error is a failure of a k6 process or its script, with the context for a diagnosis.
type Error struct {
	Problem string
	Script  string
	Status  string   // the exit status, or "running"
	LogPath string   // the complete log
	Lines   []string // the log's last lines, oldest first, at most 20
	// Thresholds describes the crossed thresholds of the script if k6 ended because of them;
	// otherwise "".
	Thresholds string
}

// Error returns several lines: the problem, the script, the status and the last log lines.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n  script: %s\n  status: %s", e.Problem, e.Script, e.Status)
	b.WriteString("\n" + proc.LogText(e.LogPath, e.Lines))
	return b.String()
}

// lastLines returns the last lines of a log for an Error, or a line with the reason if the log
// can't be read.
func lastLines(path string) []string {
	lines, err := proc.LastLines(path, proc.ErrorLines)
	if err != nil {
		return []string{fmt.Sprintf("(can't be read: %v)", err)}
	}
	return lines
}
