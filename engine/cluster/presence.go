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
	// absentAfter is the time after which a member that does not answer counts as absent. A member
	// that refuses connections counts as absent immediately.
	absentAfter = 3 * time.Second
	// presenceLinesMax is the maximum number of log lines about one member per presenceLinesPeriod.
	// A line that was omitted is logged later if it is still true then.
	presenceLinesMax    = 6
	presenceLinesPeriod = time.Minute
)

// presence records whether one member answers this node, and what was logged about the member.
type presence struct {
	// since is the time of the member's last answer. Before the first answer, it is the time at
	// which this node learned of the member.
	since    time.Time
	answered bool // true if the member has answered since this node started
	gone     bool
	away     time.Duration // duration of its last absence

	logged  bool // the value of gone in the last line
	changes int  // number of changes of gone since the last line
	lines   linelimit.Limit
}

func newPresence(now time.Time) *presence {
	return &presence{since: now, lines: linelimit.Limit{Max: presenceLinesMax, Period: presenceLinesPeriod}}
}

// note records that the member has answered (err is nil), or the error of not answering. It returns
// the line to log, or nil.
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

// presenceLine is a log line that a member is absent or answers again.
type presenceLine struct {
	gone    bool
	since   time.Time     // time of the last answer; set if gone is true
	away    time.Duration // duration of the absence; set if gone is false
	leftOut int           // number of lines about the member that were omitted before this one
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
