package cluster

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/internal/linelimit"
)

const (
	// absentAfter is how long a member is silent before it counts as gone. A member that refuses connections is gone at once.
	absentAfter = 3 * time.Second
	// presenceLinesMax bounds the lines about one member in a presenceLinesPeriod. A line that is left out comes later if it still holds.
	presenceLinesMax    = 6
	presenceLinesPeriod = time.Minute
)

// presence is whether one member answers this node, and what the log says of that.
type presence struct {
	since    time.Time // of the member's last answer, or else of the moment when this node learned of the member
	answered bool      // it has answered since this node started
	gone     bool
	away     time.Duration // its last absence

	logged  bool // the log says that it is gone
	changes int  // of gone since the last line
	lines   linelimit.Limit
}

func newPresence(now time.Time) *presence {
	return &presence{since: now, lines: linelimit.Limit{Max: presenceLinesMax, Period: presenceLinesPeriod}}
}

// note records that the member answered, or why it did not. It returns what the log should say, or nil.
func (p *presence) note(err error, now time.Time) *presenceLine {
	silent := now.Sub(p.since)
	switch {
	case err == nil:
		if p.gone {
			p.gone, p.away = false, silent
			p.changes++
		}
		p.since, p.answered = now, true
	case !p.gone && (silent > absentAfter || p.answered && status.Code(err) == codes.Unavailable):
		p.gone = true
		p.changes++
	}
	if p.gone == p.logged {
		return nil
	}
	if _, ok := p.lines.Allow(now); !ok {
		return nil
	}
	line := &presenceLine{gone: p.gone, since: p.since, away: p.away, leftOut: p.changes - 1}
	p.logged, p.changes = p.gone, 0
	return line
}

// presenceLine is a line of the log: a member is gone, or is back.
type presenceLine struct {
	gone    bool
	since   time.Time     // when it last answered; for one that is gone
	away    time.Duration // for one that is back
	leftOut int           // lines about the member before this one
}

func (l *presenceLine) write(log *slog.Logger, node string, err error) {
	level, message, about := slog.LevelInfo, "a node answers again", []any{"peer", node, "away", l.away.Round(time.Millisecond)}
	if l.gone {
		level, message, about = slog.LevelWarn, "a node does not answer", []any{"peer", node, "since", timeText(l.since), "error", dialError(status.Convert(err).Message())}
	}
	if l.leftOut > 0 {
		about = append(about, linelimit.LeftOut, l.leftOut)
	}
	log.Log(context.Background(), level, message, about...)
}

// dialError takes off what gRPC puts around the reason of a connection that failed.
func dialError(message string) string {
	if _, reason, wrapped := strings.Cut(message, "Error while dialing: "); wrapped {
		return strings.TrimSuffix(reason, `"`)
	}
	return message
}

// timeText is how messages write a moment.
func timeText(t time.Time) string { return t.UTC().Format(time.RFC3339) }
