package cluster

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pronybench/prony/engine/internal/linelimit"
)

const (
	// leadersSettle is how long the log waits after a change of leaders: all shards mostly change together, and are without a leader
	// meanwhile.
	leadersSettle = 500 * time.Millisecond
	// leaderlessMax is how long a shard is without a leader before the log says so.
	leaderlessMax = 3 * time.Second
	// leaderLinesMax bounds the rounds of lines in a leaderLinesPeriod.
	leaderLinesMax    = 10
	leaderLinesPeriod = time.Minute
)

// logLeaders logs which node leads each shard, when that changes: one line for all shards that have the same new leader.
func (k *Cluster) logLeaders() {
	l := newLeaderLog(len(k.replicas))
	again := time.NewTimer(leadersSettle)
	defer again.Stop()
	for {
		_, changed := k.Version()
		now := make([]string, len(k.replicas))
		for i := range now {
			now[i] = k.Leader(i)
		}
		lines, wait := l.lines(now, time.Now())
		for _, line := range lines {
			line.write(k)
		}
		again.Reset(wait)
		select {
		case <-k.ctx.Done():
			return
		case <-again.C:
			continue
		case <-changed:
		}
		select {
		case <-k.ctx.Done():
			return
		case <-time.After(leadersSettle):
		}
	}
}

// leaderLog is what the log says of the leaders.
type leaderLog struct {
	logged  []string  // by shard; "" for none, unsaid before the first line
	missing time.Time // since when a shard has no leader; zero: each has one
	refused []string  // the leaders that the limit kept out of the log last
	leftOut int       // how often that happened since the last line
	limit   linelimit.Limit
}

// unsaid is no node's id.
const unsaid = "?"

func newLeaderLog(shards int) *leaderLog {
	return &leaderLog{logged: slices.Repeat([]string{unsaid}, shards), limit: linelimit.Limit{Max: leaderLinesMax, Period: leaderLinesPeriod}}
}

// lines returns what the log should say of the leaders now, and when to look again at the latest.
func (l *leaderLog) lines(leaders []string, now time.Time) (out []leaderLine, again time.Duration) {
	again = time.Hour
	if !slices.Contains(leaders, "") {
		l.missing = time.Time{}
	} else if l.missing.IsZero() {
		l.missing = now
	}
	shards := map[string][]int{} // that have another leader than the log says
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
		leftOut-- // it comes now
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

// leaderLine is a line of the log: a node leads shards, or none does.
type leaderLine struct {
	leader, shards string
	leftOut        int
}

func (l leaderLine) write(k *Cluster) {
	about := []any{"shards", l.shards}
	if l.leader != "" {
		about = append(about, "leader", l.leader)
	}
	if l.leftOut > 0 {
		about = append(about, linelimit.LeftOut, l.leftOut)
	}
	switch outage := k.Outage(); {
	case l.leader != "":
		k.log.Info("a node leads", about...)
	case outage != "":
		k.log.Warn("shards have no leader", append(about, "reason", outage)...)
	default:
		k.log.Warn("shards have no leader", about...)
	}
}

// shardsText names some of n shards: "all", or their numbers.
func shardsText(shards []int, n int) string {
	if len(shards) == n {
		return "all"
	}
	return strings.Trim(strings.Join(strings.Fields(fmt.Sprint(shards)), ","), "[]")
}
