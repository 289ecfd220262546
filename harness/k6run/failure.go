package k6run

import (
	"fmt"
	"strings"

	"github.com/pronybench/prony/harness/proc"
)

// Error says what went wrong with a k6 process or its script, with what is needed to understand it.
type Error struct {
	Problem string
	Script  string
	Status  string   // its exit status, or that it was running
	LogPath string   // the whole log
	Lines   []string // the log's last lines, oldest first, at most 20
	// Thresholds says which thresholds of the script were crossed, where that is why k6 ended; ""
	// where it is not.
	Thresholds string
}

// Error returns several lines: the problem, the script, the status and the last log lines.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n  script: %s\n  status: %s", e.Problem, e.Script, e.Status)
	b.WriteString("\n" + proc.LogText(e.LogPath, e.Lines))
	return b.String()
}

// lastLines returns the last lines of a log for an error. What can't be read says so in their
// place.
func lastLines(path string) []string {
	lines, err := proc.LastLines(path, proc.ErrorLines)
	if err != nil {
		return []string{fmt.Sprintf("(it can't be read: %v)", err)}
	}
	return lines
}
