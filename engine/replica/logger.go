package replica

import (
	"io"
	"log/slog"
	"strings"

	"github.com/hashicorp/go-hclog"
)

// newLogger returns a logger for Raft that writes to ours. Lines below a warning become debug lines: the replica itself logs the
// changes that matter.
func newLogger(to *slog.Logger) hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{Name: "raft", Level: hclog.Warn, Output: lines{to}, DisableTime: true})
}

// lines passes lines of text on as log records.
type lines struct{ to *slog.Logger }

var _ io.Writer = lines{}

// Write implements io.Writer; hclog writes a line at a time.
func (l lines) Write(b []byte) (int, error) {
	text := strings.TrimSpace(string(b))
	switch {
	case strings.HasPrefix(text, "[ERROR]"):
		l.to.Warn(strings.TrimSpace(strings.TrimPrefix(text, "[ERROR]"))) // not fatal: Raft continues
	case strings.HasPrefix(text, "[WARN]"):
		l.to.Info(strings.TrimSpace(strings.TrimPrefix(text, "[WARN]")))
	default:
		l.to.Debug(text)
	}
	return len(b), nil
}
