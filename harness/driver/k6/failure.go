package k6

import (
	"fmt"
	"io"
	"os"
	"strings"
)

const (
	// errorLines is how many of the log's last lines an error carries.
	errorLines = 20
	// tailBytesMax is how much of the log's end is looked at for its last lines.
	tailBytesMax = 64 << 10
	// lineBytesMax bounds each of them.
	lineBytesMax = 2 << 10
)

// Error says what went wrong with a k6 process or its script, with what is needed to understand it.
type Error struct {
	Problem string
	Script  string
	Status  string   // its exit status, or that it was running
	LogPath string   // the whole log
	Lines   []string // the log's last lines, oldest first, at most 20
	// Thresholds says which thresholds of the script were crossed, where that is why k6 ended; "" where it is not.
	Thresholds string
}

// Error returns several lines: the problem, the script, the status and the last log lines.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n  script: %s\n  status: %s", e.Problem, e.Script, e.Status)
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

// lastLines returns the last lines of a file, at most count, looking at its last 64 KiB only. What can't be read says so
// in their place.
func lastLines(path string, count int) []string {
	text, err := tail(path)
	if err != nil {
		return []string{fmt.Sprintf("(it can't be read: %v)", err)}
	}
	text = strings.TrimRight(strings.ToValidUTF8(text, "�"), "\n")
	if text == "" {
		return nil
	}
	lines := strings.Split(text, "\n")
	lines = lines[max(0, len(lines)-count):]
	for i, line := range lines {
		if len(line) > lineBytesMax {
			lines[i] = strings.ToValidUTF8(line[:lineBytesMax], "") + " …"
		}
	}
	return lines
}

func tail(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }() // only read
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	data, err := io.ReadAll(io.NewSectionReader(file, max(0, info.Size()-tailBytesMax), tailBytesMax))
	return string(data), err
}

// crossed finds what k6 says of thresholds among the last lines of its log.
func crossed(lines []string) string {
	for i := len(lines) - 1; i >= 0; i-- {
		if strings.Contains(lines[i], "thresholds on metrics") {
			return strings.TrimSpace(lines[i])
		}
	}
	return "thresholds of the script have been crossed"
}
