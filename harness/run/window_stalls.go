package run

import (
	"strconv"
	"strings"
	"time"

	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/profile"
	"github.com/pronybench/prony/harness/result"
)

const (
	slowCommitsCounter = "prony_slow_commits_total"
	slowSecondsCounter = "prony_slow_commit_seconds_total"
	causePrefix        = slowCommitsCounter + `{cause="`
)

// stalls adds the slow commits of the servers in the given window. It adds nothing if no server
// records slow commits. It must not be called for servers on other hosts: the commits' times are
// from clocks of these hosts, which are not comparable with the clock of this host.
func (c *counters) stalls(m *measured, window profile.Span) {
	began := float64(window.From.At.UnixMicro()) / 1e6
	var commits []result.SlowCommit
	var work []result.StoreWork
	var missed uint64
	slowMs := 0.0
	for _, s := range c.servers {
		if s.stalls == nil {
			continue
		}
		slowMs = s.stalls.SlowMs
		id := ""
		if s.server != nil {
			id = s.server.ID
		}
		for _, c := range s.stalls.Commits {
			c.AtS, c.Node = c.AtS-began, id
			commits = append(commits, c)
		}
		for _, o := range s.stalls.Work {
			o.AtS, o.Node, o.Store = o.AtS-began, id, shardName(o.Store)
			work = append(work, o)
		}
		missed += missedCommits(s.stalls, began)
	}
	if slowMs == 0 {
		return
	}
	m.round.Stalls = result.StallsOf(slowMs, window.To.At.Sub(window.From.At).Seconds(), c.stallCauses(), commits, work, missed)
}

// missedCommits returns the number of slow commits that later ones have overwritten. It returns 0
// if all overwritten commits ended before the start of the window.
func missedCommits(s *observe.Stalls, began float64) uint64 {
	gone := s.Total - uint64(len(s.Commits))
	if gone == 0 || len(s.Commits) == 0 {
		return 0
	}
	if first := s.Commits[0]; first.AtS+first.Ms/float64(time.Second/time.Millisecond) < began {
		return 0
	}
	return gone
}

func (c *counters) stallCauses() (all []result.StallCause) {
	seen := map[string]bool{}
	for _, s := range c.servers {
		for key := range s.countersAfter {
			cause, is := strings.CutPrefix(key, causePrefix)
			if cause = strings.TrimSuffix(cause, `"}`); !is || seen[cause] {
				continue
			}
			seen[cause] = true
			commits, _ := c.counted(key)
			seconds, _ := c.counted(slowSecondsCounter + strings.TrimPrefix(key, slowCommitsCounter))
			all = append(all, result.StallCause{Cause: cause, Commits: uint64(max(0, commits)), Ms: 1e3 * max(0, seconds)})
		}
	}
	return all
}

// shardName returns the number of the shard whose store uses the given folder. If the name of the
// folder is not a number, it returns the name.
func shardName(folder string) string {
	if n, err := strconv.Atoi(folder); err == nil {
		return strconv.Itoa(n)
	}
	return folder
}
