package disk

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/cockroachdb/pebble/v2"
)

// Log passes Pebble's log on. Pebble calls Fatalf when it can't keep its word.
type Log struct {
	log   *slog.Logger
	fatal func(string)
}

var _ pebble.LoggerAndTracer = Log{}

// NewLog returns a log. Nil for to discards it; fatal is called, with what happened, when the store can't go on:
// it must not return to the caller in a server, and nil means exit with status 1.
func NewLog(to *slog.Logger, fatal func(problem string)) Log {
	if to == nil {
		to = slog.New(slog.DiscardHandler)
	}
	return Log{log: to, fatal: fatal}
}

// Infof is for what Pebble does in the background.
func (l Log) Infof(format string, args ...any) {
	if l.log.Enabled(context.Background(), slog.LevelDebug) {
		l.log.Debug("pebble: " + fmt.Sprintf(format, args...))
	}
}

// Errorf is for what failed and is tried again.
func (l Log) Errorf(format string, args ...any) {
	l.log.Error("pebble: " + fmt.Sprintf(format, args...))
}

// Fatalf ends the process.
func (l Log) Fatalf(format string, args ...any) { l.Stop(fmt.Sprintf(format, args...)) }

// Stop says what happened and ends the process.
func (l Log) Stop(problem string) {
	l.log.Error("the store failed, stopping at once: nothing is acknowledged that is not stored", "problem", problem)
	if l.fatal != nil {
		l.fatal(problem)
		return
	}
	os.Exit(1)
}

// Damaged returns what is done when a block does not match its checksum. A server stops: what it would answer from then
// on may be wrong. Who only looks is told by the read that failed.
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

// IsTracingEnabled says no.
func (Log) IsTracingEnabled(context.Context) bool { return false }
