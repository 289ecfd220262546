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
	// leadersSettle is the delay of the log after a change of leaders. Usually the leaders of all
	// shards change together, with an interval without leaders.
	leadersSettle = 500 * time.Millisecond
	// leaderlessMax is how long a shard may have no leader before this is logged.
	leaderlessMax = 3 * time.Second
	// leaderLinesMax bounds the rounds of lines per leaderLinesPeriod.
	leaderLinesMax    = 10
	leaderLinesPeriod = time.Minute
)

// logLeaders logs changes of the leaders: one line for all shards that have the same new leader.
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

type leaderLog struct {
	logged  []string  // by shard; "" for no leader, unsaid before the first line
	missing time.Time // since when some shard has no leader; zero if all have one
	refused []string  // the leaders in the last round that the limit suppressed
	leftOut int       // suppressed rounds since the last line
	limit   linelimit.Limit
}

// unsaid is not a valid node ID.
const unsaid = "?"

func newLeaderLog(shards int) *leaderLog {
	return &leaderLog{logged: slices.Repeat([]string{unsaid}, shards), limit: linelimit.Limit{Max: leaderLinesMax, Period: leaderLinesPeriod}}
}

// lines returns the lines to log about the current leaders, and the maximum delay until the next
// call.
func (l *leaderLog) lines(leaders []string, now time.Time) (out []leaderLine, again time.Duration) {
	again = time.Hour
	if !slices.Contains(leaders, "") {
		l.missing = time.Time{}
	} else if l.missing.IsZero() {
		l.missing = now
	}
	shards := map[string][]int{} // shards whose leader differs from the logged one, by leader
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
		leftOut-- // it is logged now
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

// shardsText formats some of n shards: "all", or their numbers.
func shardsText(shards []int, n int) string {
	if len(shards) == n {
		return "all"
	}
	return strings.Trim(strings.Join(strings.Fields(fmt.Sprint(shards)), ","), "[]")
}
