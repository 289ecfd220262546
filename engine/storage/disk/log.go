package disk

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// Log forwards the log messages of Pebble to a slog.Logger. Pebble calls Fatalf when it can no
// longer guarantee durability.
type Log struct {
	log   *slog.Logger
	fatal func(string)
}

var _ pebble.LoggerAndTracer = Log{}

// NewLog returns a Log that writes to a logger; nil discards the messages. fatal is called with the
// problem when the store fails. In a server it must not return. If fatal is nil, the process exits,
// with status 1 (Stop) or 2 (Gone).
func NewLog(to *slog.Logger, fatal func(problem string)) Log {
	if to == nil {
		to = slog.New(slog.DiscardHandler)
	}
	return Log{log: to, fatal: fatal}
}

// Infof logs Pebble's background work, at the level debug.
func (l Log) Infof(format string, args ...any) {
	if l.log.Enabled(context.Background(), slog.LevelDebug) {
		l.log.Debug("pebble: " + fmt.Sprintf(format, args...))
	}
}

// Errorf logs failures of operations that Pebble retries.
func (l Log) Errorf(format string, args ...any) {
	l.log.Error("pebble: " + fmt.Sprintf(format, args...))
}

// Fatalf ends the process.
func (l Log) Fatalf(format string, args ...any) { l.Stop(fmt.Sprintf(format, args...)) }

// The exit statuses of a process whose store failed. After exitGone a service manager must not
// restart the process, because it would serve an empty folder. cmd/queued documents the statuses.
const (
	exitFailed = 1
	exitGone   = 2
)

// lastLogMost is the maximum wait for the last log line, since the reader of the log may be
// blocked.
const lastLogMost = time.Second

// ending is true once the process is about to exit. Only the first failure is logged: a goroutine
// that finds another failure blocks until the process exits.
var ending atomic.Bool

// Stop logs the problem and ends the process.
func (l Log) Stop(problem string) { l.end(problem, exitFailed) }

// Gone logs that the store or the data folder is missing, and ends the process.
func (l Log) Gone(problem string) { l.end(problem, exitGone) }

func (l Log) end(problem string, status int) {
	const message = "the store failed, stopping at once: only stored commits were acknowledged"
	if l.fatal != nil {
		l.log.Error(message, "problem", problem)
		l.fatal(problem)
		return
	}
	if ending.Swap(true) {
		select {}
	}
	logged := make(chan struct{})
	go func() {
		defer close(logged)
		l.log.Error(message, "problem", problem)
	}()
	select {
	case <-logged:
	case <-time.After(lastLogMost):
	}
	os.Exit(status)
}

// Damaged returns the function that Pebble calls when a block does not match its checksum. The
// function ends the process, because later answers might be wrong. If readOnly is true, it only
// logs, and the read returns an error.
func (l Log) Damaged(readOnly bool) func(pebble.DataCorruptionInfo) {
	return func(info pebble.DataCorruptionInfo) {
		if readOnly {
			l.Errorf("%s is damaged: %v", info.Path, info.Details)
			return
		}
		l.Fatalf("%s is damaged: %v", info.Path, info.Details)
	}
}

// Eventf traces nothing.
func (Log) Eventf(context.Context, string, ...any) {}

// IsTracingEnabled returns false.
func (Log) IsTracingEnabled(context.Context) bool { return false }
