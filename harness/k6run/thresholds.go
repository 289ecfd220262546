package k6run

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/pronybench/prony/harness/proc"
)

// summaryBytesMax bounds the part of k6's summary that is read. The summary has a line for each
// metric and threshold.
const summaryBytesMax = 1 << 20

// crossed describes the crossed thresholds of a script, with the measured values from k6's summary.
// A script that writes its own summary hides them; crossed then returns k6's message from the last
// lines of its log.
func crossed(summaryPath, logPath string) string {
	if found := crossedIn(summaryPath); len(found) > 0 {
		return strings.Join(found, "; ")
	}
	lines, _ := proc.LastLines(logPath, proc.ErrorLines) // without a log there is no message either
	for _, line := range slices.Backward(lines) {
		if strings.Contains(line, "thresholds on metrics") {
			return strings.TrimSpace(line)
		}
	}
	return "thresholds of the script have been crossed"
}

// crossedIn returns the crossed thresholds of a summary, or nil if the file can't be read or has
// none. That part of the summary looks like this:
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

// cutLast cuts text after the last separator, which text must have.
func cutLast(text, separator string) (before, after string) {
	end := strings.LastIndex(text, separator) + len(separator)
	return text[:end], strings.TrimSpace(text[end:])
}
