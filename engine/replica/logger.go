package replica

import (
	"io"
	"log/slog"
	"strings"

	"github.com/hashicorp/go-hclog"
)

// newLogger returns a log for Raft, which writes to ours. What Raft says in passing is for debugging: what matters of
// it, the replica says itself.
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
		l.to.Warn(strings.TrimSpace(strings.TrimPrefix(text, "[ERROR]"))) // it goes on, and so do we
	case strings.HasPrefix(text, "[WARN]"):
		l.to.Info(strings.TrimSpace(strings.TrimPrefix(text, "[WARN]")))
	default:
		l.to.Debug(text)
	}
	return len(b), nil
}
