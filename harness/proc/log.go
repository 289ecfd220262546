package proc

import (
	"io"
	"os"
	"strings"
)

const (
	// ErrorLines is the number of last log lines that an error contains.
	ErrorLines = 20
	// tailBytesMax is the number of bytes at the end of a log that are searched for its last lines.
	tailBytesMax = 64 << 10
	// lineBytesMax bounds the length of each line in bytes.
	lineBytesMax = 2 << 10
)

// LastLines returns at most count last lines of a log, oldest first. It returns none if count is
// not positive. It reads only the last 64 KiB of the log, truncates lines that are longer than 2
// KiB, and replaces invalid UTF-8. Another process may append to the log at the same time.
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
	defer func() { _ = file.Close() }() // the file was opened only for reading
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	data, err := io.ReadAll(io.NewSectionReader(file, max(0, info.Size()-tailBytesMax), tailBytesMax))
	return string(data), err
}

// LogText formats a log for an error of several lines. The text contains the path of the log and
// its last lines, indented.
func LogText(path string, lines []string) string {
	if len(lines) == 0 {
		return "  log: " + path + " (empty)"
	}
	return "  log: " + path + ", which ends with\n    " + strings.Join(lines, "\n    ")
}
