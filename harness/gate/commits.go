package gate

import (
	"fmt"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
)

// Server counters that describe commits.
const (
	commitSeconds = "prony_commit_seconds_sum"
	commitCount   = "prony_commit_seconds_count"
)

// ReadsCounter reports whether a verdict's explanation uses the server counter of that name.
// Published results omit all other counters.
func ReadsCounter(name string) bool { return name == commitSeconds || name == commitCount }

// commits describes the duration of the server's commits and the cycles per commit, over the timed
// rounds. Every cycle waits for three commits: the commits of its enqueue, its lease and its
// completion. Slow commits therefore explain a slow server regardless of the profiles.
func commits(rounds []result.Round) []string {
	var seconds, count, completed float64
	for i := range rounds {
		if r := &rounds[i]; r.Timed() {
			seconds += r.Server[commitSeconds]
			count += r.Server[commitCount]
			completed += float64(r.Ledger.Completed)
		}
	}
	if count == 0 {
		return nil
	}
	return []string{fmt.Sprintf("commits: %s ms each on average, carrying %s cycles each",
		render.Digits(1e3*seconds/count, 3), render.Digits(completed/count, 3))}
}
