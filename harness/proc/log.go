package proc

import (
	"io"
	"os"
	"strings"
)

const (
	// ErrorLines is how many of a log's last lines an error shows.
	ErrorLines = 20
	// tailBytesMax is how much of a log's end is looked at for its last lines.
	tailBytesMax = 64 << 10
	// lineBytesMax bounds each of them.
	lineBytesMax = 2 << 10
)

// LastLines returns the last lines of a log, at most count, oldest first, and none where count is not positive. It looks at
// the log's last 64 KiB only, cuts lines that are longer than 2 KiB, and replaces what is not UTF-8. The log may grow
// meanwhile.
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
	defer func() { _ = file.Close() }() // only read
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	data, err := io.ReadAll(io.NewSectionReader(file, max(0, info.Size()-tailBytesMax), tailBytesMax))
	return string(data), err
}

// LogText is how an error that is several lines shows a log: its path, and its last lines, which are indented.
func LogText(path string, lines []string) string {
	if len(lines) == 0 {
		return "  log: " + path + " (empty)"
	}
	return "  log: " + path + ", which ends with\n    " + strings.Join(lines, "\n    ")
}
