package replica

import (
	"context"
	"io"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/pronybench/prony/engine/internal/linelimit"
)

// At most raftLinesMax lines of Raft are logged per raftLinesPeriod, not counting debug lines.
const (
	raftLinesMax    = 10
	raftLinesPeriod = 10 * time.Second
)

// aboutContact lists the prefixes of Raft's messages about unreachable members, elections, and logs
// that differ after elections. Raft repeats these messages many times a second while a member is
// unreachable, so they are logged at debug level. Package cluster logs once that a node has become
// unreachable or reachable, and which node leads.
var aboutContact = []string{
	"failed to heartbeat to", "failed to contact", "failed to appendEntries to", "failed to pipeline appendEntries", "failed to start pipeline replication to",
	"failed to make requestVote RPC", "failed to decode incoming command", "failed to flush response",
	"heartbeat timeout reached", "Election timeout reached", "rejecting vote request", "rejecting pre-vote request", "new leader elected, stepping down",
	"peer has newer term, stopping replication", "appendEntries rejected, sending older logs", "failed to get previous log",
	"previous log term mis-match", "clearing log suffix", "duplicate requestVote from",
}

// aboutReceiving matches Raft's lines about receiving a store from the leader. Raft writes one line
// every ten seconds and one at the end.
var aboutReceiving = regexp.MustCompile(`^` + raftName + `: snapshot network transfer progress: read-bytes=(\d+) percent-complete="?([\d.]+)%"?$`)

// newLogger returns a logger for Raft that writes to the given logger. It logs warnings and errors.
// It drops other lines, except those about receiving the leader's store, since the replica itself
// logs the important changes.
func newLogger(to *slog.Logger) hclog.Logger {
	out := &lines{to: to, limit: linelimit.Limit{Max: raftLinesMax, Period: raftLinesPeriod}}
	return hclog.New(&hclog.LoggerOptions{Name: raftName, Level: hclog.Info, Output: out, DisableTime: true})
}

const raftName = "raft"

type lines struct {
	to    *slog.Logger
	limit linelimit.Limit
}

var _ io.Writer = (*lines)(nil)

// Write implements io.Writer. hclog passes one line at a time.
func (l *lines) Write(b []byte) (int, error) {
	text := strings.TrimSpace(string(b))
	if rest, is := strings.CutPrefix(text, "[INFO]"); is {
		if m := aboutReceiving.FindStringSubmatch(strings.TrimSpace(rest)); m != nil {
			l.to.Info("receiving the store of the leader", "bytes", m[1], "percent", m[2])
		}
		return len(b), nil
	}
	level := slog.LevelDebug
	if rest, is := strings.CutPrefix(text, "[ERROR]"); is {
		level, text = slog.LevelWarn, strings.TrimSpace(rest) // not fatal: Raft continues
	} else if rest, is := strings.CutPrefix(text, "[WARN]"); is {
		level, text = slog.LevelInfo, strings.TrimSpace(rest)
	}
	message := strings.TrimPrefix(text, raftName+": ")
	if slices.ContainsFunc(aboutContact, func(begins string) bool { return strings.HasPrefix(message, begins) }) {
		level = slog.LevelDebug
	}
	l.write(level, text)
	return len(b), nil
}

func (l *lines) write(level slog.Level, text string) {
	if level == slog.LevelDebug {
		l.to.Debug(text)
		return
	}
	if omitted, ok := l.limit.Allow(time.Now()); ok {
		var about []any
		if omitted > 0 {
			about = []any{linelimit.LeftOut, omitted}
		}
		l.to.Log(context.Background(), level, text, about...)
	}
}
