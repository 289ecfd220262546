package gate

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/harness/result"
)

func TestCommitsAreThoseOfTheTimedRounds(t *testing.T) {
	timed := result.Round{
		Ledger: result.Ledger{Completed: 1200},
		Server: map[string]float64{commitSeconds: 0.53, commitCount: 100},
	}
	profiled := result.Round{Profiled: true, Server: map[string]float64{commitSeconds: 99, commitCount: 1}}
	assert.Equal(t, []string{"commits: 5.3 ms each on average, carrying 12 cycles each"}, commits([]result.Round{timed, profiled}))
	assert.Empty(t, commits([]result.Round{{}}), "a server without the counters yields no line")
}
