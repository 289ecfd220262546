package peer

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/pronybench/prony/engine/internal/linelimit"
)

// The limit on log lines is necessary because anyone who can reach the port can make handshakes
// fail. They must not be able to fill the disk.
const (
	linesMax    = 20 // maximum number of lines per linesPeriod
	linesPeriod = 10 * time.Second
)

type problemLog struct {
	log   *slog.Logger
	limit linelimit.Limit
}

func newProblemLog(to *slog.Logger) *problemLog {
	return &problemLog{log: to, limit: linelimit.Limit{Max: linesMax, Period: linesPeriod}}
}

func (l *problemLog) warn(message string, about ...any) { l.write(slog.LevelWarn, message, about) }

// refusal logs a refused handshake. CodePlace is logged at info level: it is normal while a node
// starts or stops.
func (l *problemLog) refusal(message string, err error, about ...any) {
	level := slog.LevelWarn
	if refused := (*RefusedError)(nil); errors.As(err, &refused) && refused.Code == CodePlace {
		level = slog.LevelInfo
	}
	l.write(level, message, append(about, "error", err))
}

func (l *problemLog) write(level slog.Level, message string, about []any) {
	if omitted, ok := l.limit.Allow(time.Now()); ok {
		if omitted > 0 {
			about = append(about, linelimit.LeftOut, omitted)
		}
		l.log.Log(context.Background(), level, message, about...)
	}
}
