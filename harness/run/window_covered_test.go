package run

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/load"
	"github.com/pronybench/prony/harness/profile"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/topology"
)

// watchedGenerator is this process as a generator. It reports each lookup of its process id.
type watchedGenerator struct {
	generator
	looked func()
}

func (g *watchedGenerator) pid() int { g.looked(); return os.Getpid() }

// CPU clocks cover the window even if the admin listener is slow: the test blocks it until the
// clocks have been read. Counters and profiles record the time that they cover, and their cycles
// are those of that time.
func TestWindowsOfCPUCountersAndProfiles(t *testing.T) {
	dir := t.TempDir()
	s := small()
	s.Captures = []scenario.Capture{{Kind: "cpu"}, {Kind: "mutex", MutexFraction: 1}}
	cluster, err := topology.Start(t.Context(), topology.Config{Binary: queued, Dir: dir, LogPath: filepath.Join(dir, "log"), Topology: s.Topology})
	require.NoError(t, err)
	defer func() { require.NoError(t, cluster.Stop(context.Background())) }()

	var mu sync.Mutex
	var asked []time.Time
	read := make(chan struct{}) // closed once the clocks have been read at the start of the window
	admin := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: cluster.Servers()[0].Node().Admin})
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, time.Now())
		mu.Unlock()
		select {
		case <-read:
		case <-r.Context().Done():
		}
		admin.ServeHTTP(w, r)
	}))
	defer slow.Close()

	var looks int
	var opened time.Time
	generator := &watchedGenerator{looked: func() {
		if looks++; looks == 2 { // the first lookup is that of the clocks
			opened = time.Now()
			close(read)
		}
	}}
	w := newWindowProbe(&runner{scenario: s, points: s.Plan()}, cluster, nil, plannedRound{kind: profiled})
	w.loads = &loads{generator: generator}
	w.servers[0].admin.Address = strings.TrimPrefix(slow.URL, "http://")
	require.NoError(t, w.near(t.Context()))
	looks = 0
	began := time.Now()
	require.NoError(t, w.start(t.Context()))
	assert.True(t, w.servers[0].before.At.Before(opened), "the server's CPU clock is read before any HTTP request")
	assert.True(t, w.clocks.before.At.Before(opened), "the generator's CPU clock is read before any HTTP request")

	ended := time.Now()
	require.NoError(t, w.end(t.Context()))
	m := &measured{round: result.Round{WindowSeconds: ended.Sub(began).Seconds(), Cycles: 1_000_000}}
	for range w.profiles.processes {
		m.captured = append(m.captured, profile.Captured{})
	}
	w.covered(m, &outcomes{all: []*load.Outcome{{WindowStart: began}}})

	window, gone := m.round.WindowSeconds, opened.Sub(began).Seconds()
	covered := map[string]result.Covered{}
	for _, c := range m.round.Covered {
		covered[c.Of+" "+c.Node] = c
		assert.InDelta(t, 1e6*(c.ToS-c.FromS)/window, float64(c.Cycles), 2, "cycles of %s %s are those of the time covered", c.Of, c.Node)
	}
	cpu := covered["cpu "]
	assert.Less(t, cpu.FromS, gone, "the clocks do not wait")
	assert.GreaterOrEqual(t, cpu.FromS, 0.0)
	assert.GreaterOrEqual(t, cpu.ToS, window)
	for _, at := range asked {
		assert.False(t, at.After(ended) && at.Before(w.clocks.span.To.At), "no HTTP request precedes the clocks at the end of the window")
	}
	assert.Greater(t, covered["counters "].FromS, gone, "the counters record their late start")
	assert.GreaterOrEqual(t, covered["counters "].ToS, window)
	for _, name := range []string{"profile cpu ", "profile mutex ", "profile cpu generator", "profile mutex generator"} {
		require.Contains(t, covered, name)
		assert.GreaterOrEqual(t, covered[name].ToS, window, name)
	}
	assert.Greater(t, covered["profile mutex "].FromS, gone)
}
