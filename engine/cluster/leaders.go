package cluster

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pronybench/prony/engine/internal/linelimit"
)

const (
	// leadersSettle is the delay between a change of leaders and its log line. Usually
	// the leaders of all shards change together, and for some time the shards have no leader.
	leadersSettle = 500 * time.Millisecond
	// leaderlessMax is the time after which a shard without a leader is logged.
	leaderlessMax = 3 * time.Second
	// leaderLinesMax is the maximum number of rounds of lines per leaderLinesPeriod.
	leaderLinesMax    = 10
	leaderLinesPeriod = time.Minute
)

// logLeaders logs changes of the leaders. It writes one line for all shards that have the same new
// leader.
func (k *Cluster) logLeaders(ctx context.Context) {
	l := newLeaderLog(len(k.replicas))
	again := time.NewTimer(leadersSettle)
	defer again.Stop()
	for {
		_, changed := k.Version()
		lines, wait := l.lines(k.leaders(), time.Now())
		for _, line := range lines {
			line.write(k.log, k.Outage())
		}
		again.Reset(wait)
		select {
		case <-ctx.Done():
			return
		case <-again.C:
			continue
		case <-changed:
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(leadersSettle):
		}
	}
}

type leaderLog struct {
	logged  []string  // by shard: the leader in the last line; "" for none, unsaid before any line
	missing time.Time // since when at least one shard has no leader; zero if all have one
	refused []string  // the leaders in the last round that the limit has suppressed
	leftOut int       // number of rounds that were suppressed since the last line
	limit   linelimit.Limit
}

// unsaid cannot be the ID of a node.
const unsaid = "?"

func newLeaderLog(shards int) *leaderLog {
	return &leaderLog{logged: slices.Repeat([]string{unsaid}, shards), limit: linelimit.Limit{Max: leaderLinesMax, Period: leaderLinesPeriod}}
}

// lines returns the lines to log about the current leaders, and the maximum time until it must be
// called again.
func (l *leaderLog) lines(leaders []string, now time.Time) (out []leaderLine, again time.Duration) {
	again = time.Hour
	if !slices.Contains(leaders, "") {
		l.missing = time.Time{}
	} else if l.missing.IsZero() {
		l.missing = now
	}
	shards := map[string][]int{} // by leader: the shards whose logged leader differs
	for i, leader := range leaders {
		if leader != l.logged[i] && (leader != "" || now.Sub(l.missing) >= leaderlessMax) {
			shards[leader] = append(shards[leader], i)
		}
	}
	if slices.Contains(leaders, "") {
		again = leadersSettle
	}
	if l.refused != nil && slices.Equal(leaders, l.logged) {
		l.refused = nil
		l.leftOut++
	}
	if len(shards) == 0 {
		return nil, again
	}
	if _, ok := l.limit.Allow(now); !ok {
		if !slices.Equal(l.refused, leaders) {
			l.refused = leaders
			l.leftOut++
		}
		return nil, leadersSettle
	}
	leftOut := l.leftOut
	if slices.Equal(l.refused, leaders) {
		leftOut-- // this round is logged now
	}
	for _, leader := range slices.Sorted(maps.Keys(shards)) {
		for _, i := range shards[leader] {
			l.logged[i] = leader
		}
		out = append(out, leaderLine{leader, shardsText(shards[leader], len(leaders)), leftOut})
		leftOut = 0
	}
	l.refused, l.leftOut = nil, 0
	return out, again
}

type leaderLine struct {
	leader, shards string
	leftOut        int
}

func (l leaderLine) write(log *slog.Logger, outage string) {
	about := []any{"shards", l.shards}
	if l.leader != "" {
		about = append(about, "leader", l.leader)
	}
	if l.leftOut > 0 {
		about = append(about, linelimit.LeftOut, l.leftOut)
	}
	switch {
	case l.leader != "":
		log.Info("a node leads", about...)
	case outage != "":
		log.Warn("shards have no leader", append(about, "reason", outage)...)
	default:
		log.Warn("shards have no leader", about...)
	}
}

func shardsText(shards []int, n int) string {
	if len(shards) == n {
		return "all"
	}
	return strings.Trim(strings.Join(strings.Fields(fmt.Sprint(shards)), ","), "[]")
}
