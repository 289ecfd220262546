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
	// absentAfter is how long a member may be silent before it counts as absent. A member that
	// refuses connections counts as absent immediately.
	absentAfter = 3 * time.Second
	// presenceLinesMax bounds the log lines about one member per presenceLinesPeriod. An omitted
	// line is logged later if it is still true.
	presenceLinesMax    = 6
	presenceLinesPeriod = time.Minute
)

// presence tracks whether one member answers this node, and what was logged about it.
type presence struct {
	// since is the time of the member's last answer, or else when this node learned of the member.
	since    time.Time
	answered bool // it has answered since this node started
	gone     bool
	away     time.Duration // duration of its last absence

	logged  bool // the value of gone in the last logged line
	changes int  // changes of gone since the last line
	lines   linelimit.Limit
}

func newPresence(now time.Time) *presence {
	return &presence{since: now, lines: linelimit.Limit{Max: presenceLinesMax, Period: presenceLinesPeriod}}
}

// note records that the member answered, or the error if it did not. It returns the line to log, or
// nil.
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

// presenceLine is a log line about a member that is absent or has come back.
type presenceLine struct {
	gone    bool
	since   time.Time     // time of the last answer, if gone
	away    time.Duration // duration of the absence, if back
	leftOut int           // number of omitted lines about the member before this one
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

func dialError(message string) string {
	if _, reason, wrapped := strings.Cut(message, "Error while dialing: "); wrapped {
		return strings.TrimSuffix(reason, `"`)
	}
	return message
}

func timeText(t time.Time) string { return t.UTC().Format(time.RFC3339) }
