package k6run

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
)

// summaryBytesMax bounds what is read of k6's summary, which has a line for each metric and
// threshold.
const summaryBytesMax = 1 << 20

// crossed says which thresholds of a script were crossed, with the measured values as k6's summary
// shows them. A script that writes a summary of its own hides them: then it says what k6 says among
// the last lines of its log.
func crossed(summaryPath string, logLines []string) string {
	if found := crossedIn(summaryPath); len(found) > 0 {
		return strings.Join(found, "; ")
	}
	for i := len(logLines) - 1; i >= 0; i-- {
		if strings.Contains(logLines[i], "thresholds on metrics") {
			return strings.TrimSpace(logLines[i])
		}
	}
	return "thresholds of the script have been crossed"
}

// crossedIn returns the crossed thresholds of a summary: nil if the file can't be read or has none.
// The part of the summary is
//
//	█ THRESHOLDS
//
//	  prony_cycle_duration
//	  ✓ 'p(99)<900' p(99)=812.3ms
//	  ✗ 'p(95)<100' p(95)=312.5ms
func crossedIn(path string) (found []string) {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }() // only read
	inside, metric := false, ""
	lines := bufio.NewScanner(io.LimitReader(f, summaryBytesMax))
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if title, is := strings.CutPrefix(line, "█ "); is {
			inside = strings.TrimSpace(title) == "THRESHOLDS"
			continue
		}
		if !inside || line == "" {
			continue
		}
		mark, rest, _ := strings.Cut(line, " ")
		switch mark {
		case "✗":
			limit, value := cutLast(rest, "'")
			found = append(found, fmt.Sprintf("the threshold %s of %s was crossed: %s", limit, metric, value))
		case "✓":
		default:
			metric = line
		}
	}
	return found
}

// cutLast cuts text after the last separator.
func cutLast(text, separator string) (before, after string) {
	end := strings.LastIndex(text, separator) + len(separator)
	return text[:end], strings.TrimSpace(text[end:])
}
