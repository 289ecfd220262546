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

// lines logs problems, so many of them in a while.
type lines struct {
	log *slog.Logger

	mu     sync.Mutex // guards what follows
	since  time.Time
	said   int
	unsaid int
}

func (l *lines) warn(message string, about ...any) { l.write(slog.LevelWarn, message, about) }

// tell logs that a handshake was refused. That a group is not there is no problem while a node starts or stops.
func (l *lines) tell(message string, err error, about ...any) {
	level := slog.LevelWarn
	if refused := (*RefusedError)(nil); errors.As(err, &refused) && refused.Code == CodePlace {
		level = slog.LevelInfo
	}
	l.write(level, message, append(about, "error", err))
}

func (l *lines) write(level slog.Level, message string, about []any) {
	if unsaid, ok := l.take(time.Now()); ok {
		if unsaid > 0 {
			about = append(about, "lines_left_out_before", unsaid)
		}
		l.log.Log(context.Background(), level, message, about...)
	}
}

// take tells whether there is room for one more line, and how many were left out since the one before.
func (l *lines) take(now time.Time) (unsaid int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.since) >= linesPeriod {
		l.since, l.said = now, 0
	}
	if l.said == linesMax {
		l.unsaid++
		return 0, false
	}
	l.said++
	unsaid, l.unsaid = l.unsaid, 0
	return unsaid, true
}
