package run

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/adminhttp"
	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/profile"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/topology"
)

func TestWindowProbeOfAServerThatIsGone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cluster, err := topology.Start(t.Context(), topology.Config{
		Binary: queued, Dir: dir, LogPath: filepath.Join(dir, "log"), Topology: small().Topology,
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, cluster.Stop(context.Background())) }()
	require.NoError(t, cluster.Servers()[0].Kill())

	w := newWindowProbe(&runner{scenario: small(), points: small().Plan()}, cluster, nil, plannedRound{})
	require.Error(t, w.start(context.Background()), "the server must run at the start of the window")
	require.Len(t, w.servers[0].warnings, 1)
	assert.Contains(t, w.servers[0].warnings[0], result.ServerRSSMBMax+" covers the warm-up too")

	// A server that is down at the end of the window is no error: a fault killed it.
	require.NoError(t, w.servers[0].sampleBefore(t.Context()))
	w.counters.ledBefore = []string{""}
	require.NoError(t, w.end(context.Background()))
	m := &measured{round: result.Round{Metrics: map[string]float64{}}}
	require.NoError(t, w.finish(m))
	require.Len(t, m.warnings, 3)
	assert.Contains(t, m.warnings[1], "its counters are missing")
	assert.Contains(t, m.warnings[2], "its memory is missing")
	w.counters.storage(m)
	assert.NotContains(t, m.round.Metrics, result.StorageSetsPerCycle)

	w.clocks.server, w.clocks.client = observe.Spent{CPU: 6 * time.Millisecond}, observe.Spent{CPU: 2 * time.Millisecond}
	golden.Cases(t, "testdata/nocycle.golden").Error(t, "no cycle", w.clocks.perCycle(m))
	assert.NotContains(t, m.round.Metrics, result.ServerCPUUsPerCycle, "no figure without a cycle")
}

// The counters of a server that was restarted in the window cover only a part of it.
func TestWindowProbeOfAServerThatWasStartedAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cluster, err := topology.Start(t.Context(), topology.Config{
		Binary: queued, Dir: dir, LogPath: filepath.Join(dir, "log"), Topology: small().Topology,
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, cluster.Stop(context.Background())) }()
	w := newWindowProbe(&runner{scenario: small(), points: small().Plan()}, cluster, nil, plannedRound{})
	require.NoError(t, w.start(t.Context()))
	require.NoError(t, cluster.Servers()[0].Kill())
	require.NoError(t, cluster.Servers()[0].Start(t.Context()))
	require.NoError(t, cluster.Servers()[0].WaitReady(t.Context()))
	require.NoError(t, w.end(t.Context()))
	assert.True(t, w.servers[0].partial)
	m := &measured{round: result.Round{Metrics: map[string]float64{}}}
	require.NoError(t, w.finish(m))
	require.Len(t, m.warnings, 1)
	assert.Contains(t, m.warnings[0], "it was restarted in the window")
}

func TestCPUPerCycle(t *testing.T) {
	t.Parallel()
	w := &clocks{servers: []*serverProbe{{}}, server: observe.Spent{CPU: 6 * time.Millisecond}, client: observe.Spent{CPU: 2 * time.Millisecond}}
	m := &measured{round: result.Round{Cycles: 1000, Metrics: map[string]float64{}}}
	require.NoError(t, w.perCycle(m))
	assert.Equal(t, map[string]float64{result.ServerCPUUsPerCycle: 6, result.ClientCPUUsPerCycle: 2}, m.round.Metrics)
}

// A round that breaks off ends the profiling of the server.
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
	session, err := profile.Start(t.Context(), profile.Server{Admin: adminhttp.Client{Address: strings.TrimPrefix(admin.URL, "http://")}}, captures,
		func() profile.Mark { return profile.Mark{At: time.Now()} })
	require.NoError(t, err)
	w := &windowProbe{profiles: profiles{processes: []*profiledProcess{{session: session}, {}}}}
	w.abandon(t.Context())
	(&windowProbe{}).abandon(t.Context()) // without profiles
	mu.Lock()
	defer mu.Unlock()
	assert.Equal(t, []string{"7", "0"}, rates)
}
