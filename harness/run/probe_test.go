package run

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/profile"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/topology"
)

func TestWindowProbeOfAProcessThatIsGone(t *testing.T) {
	t.Parallel()
	const none = 1<<22 + 1 // above the largest process id that Linux gives out
	w := &windowProbe{scenario: small(), node: &topology.Node{PID: none}}
	require.Error(t, w.start(context.Background()))
	require.Len(t, w.warnings, 1)
	assert.Contains(t, w.warnings[0], result.ServerRSSMBMax+" covers the warm-up too")
	require.Error(t, w.end(context.Background()))
	m := &measured{round: result.Round{Metrics: map[string]float64{}}}
	require.Error(t, w.finish(m))
	assert.Equal(t, w.warnings, m.warnings)
	assert.Empty(t, m.round.Metrics)

	w.server, w.client = observe.Spent{CPU: 6 * time.Millisecond}, observe.Spent{CPU: 2 * time.Millisecond}
	require.ErrorContains(t, w.perCycle(m), "no CPU time per cycle")
	assert.Empty(t, m.round.Metrics, "no figure without a cycle")
}

func TestCPUPerCycle(t *testing.T) {
	t.Parallel()
	w := &windowProbe{server: observe.Spent{CPU: 6 * time.Millisecond}, client: observe.Spent{CPU: 2 * time.Millisecond}}
	m := &measured{round: result.Round{Cycles: 1000, Metrics: map[string]float64{}}}
	require.NoError(t, w.perCycle(m))
	assert.Equal(t, map[string]float64{result.ServerCPUUsPerCycle: 6, result.ClientCPUUsPerCycle: 2}, m.round.Metrics)
}

// A round that breaks off does not leave the server's profiling on.
func TestAbandonedProfiles(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var rates []string
	admin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			pprof.Handler(strings.TrimPrefix(r.URL.Path, "/debug/pprof/")).ServeHTTP(w, r)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		rates = append(rates, r.FormValue("mutex"))
		_, _ = w.Write([]byte(`{"mutex":` + r.FormValue("mutex") + `}`))
	}))
	defer admin.Close()
	captures := []scenario.Capture{{Kind: "mutex", MutexFraction: 7}}
	session, err := profile.Start(t.Context(), observe.Admin{Address: strings.TrimPrefix(admin.URL, "http://")}, captures, time.Second)
	require.NoError(t, err)
	w := &windowProbe{session: session}
	w.abandon(t.Context())
	(&windowProbe{}).abandon(t.Context()) // there may be none
	mu.Lock()
	defer mu.Unlock()
	assert.Equal(t, []string{"7", "0"}, rates)
}
