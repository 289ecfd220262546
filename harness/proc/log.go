package proc

import (
	"io"
	"os"
	"strings"
)

const (
	// ErrorLines is the number of last log lines that an error shows.
	ErrorLines = 20
	// tailBytesMax bounds the part of a log that is searched for its last lines.
	tailBytesMax = 64 << 10
	// lineBytesMax bounds the length of each line.
	lineBytesMax = 2 << 10
)

// LastLines returns the last lines of a log, at most count, oldest first; none if count is not
// positive. It reads only the last 64 KiB of the log, truncates lines longer than 2 KiB, and
// replaces invalid UTF-8. The log may grow concurrently.
func LastLines(path string, count int) ([]string, error) {
	text, err := tail(path)
	if err != nil {
		return nil, err
	}
	text = strings.TrimRight(strings.ToValidUTF8(text, "�"), "\n")
	if text == "" {
		return nil, nil
	}
	lines := strings.Split(text, "\n")
	lines = lines[max(0, len(lines)-max(0, count)):]
	for i, line := range lines {
		if len(line) > lineBytesMax {
			lines[i] = strings.ToValidUTF8(line[:lineBytesMax], "") + " …"
		}
	}
	return lines, nil
}

func tail(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }() // opened for reading only
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	data, err := io.ReadAll(io.NewSectionReader(file, max(0, info.Size()-tailBytesMax), tailBytesMax))
	return string(data), err
}

// LogText formats a log for a multi-line error: its path, and its last lines, indented.
func LogText(path string, lines []string) string {
	if len(lines) == 0 {
		return "  log: " + path + " (empty)"
	}
	return "  log: " + path + ", which ends with\n    " + strings.Join(lines, "\n    ")
}
