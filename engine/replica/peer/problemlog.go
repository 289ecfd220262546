package peer

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

// Whoever can reach the port can make handshakes fail: they must not fill the disk with lines.
const (
	linesMax    = 20 // within linesPeriod
	linesPeriod = 10 * time.Second
)

// problemLog logs at most linesMax problems in a linesPeriod.
type problemLog struct {
	log *slog.Logger

	mu      sync.Mutex // guards what follows
	since   time.Time
	logged  int
	omitted int
}

func (l *problemLog) warn(message string, about ...any) { l.write(slog.LevelWarn, message, about) }

// refusal logs that a handshake was refused. CodePlace is no problem: it happens while a node starts or stops.
func (l *problemLog) refusal(message string, err error, about ...any) {
	level := slog.LevelWarn
	if refused := (*RefusedError)(nil); errors.As(err, &refused) && refused.Code == CodePlace {
		level = slog.LevelInfo
	}
	l.write(level, message, append(about, "error", err))
}

func (l *problemLog) write(level slog.Level, message string, about []any) {
	if omitted, ok := l.allow(time.Now()); ok {
		if omitted > 0 {
			about = append(about, "lines_left_out_before", omitted)
		}
		l.log.Log(context.Background(), level, message, about...)
	}
}

// allow reports whether one more line may be logged, and how many were omitted since the last one.
func (l *problemLog) allow(now time.Time) (omitted int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.since) >= linesPeriod {
		l.since, l.logged = now, 0
	}
	if l.logged == linesMax {
		l.omitted++
		return 0, false
	}
	l.logged++
	omitted, l.omitted = l.omitted, 0
	return omitted, true
}
