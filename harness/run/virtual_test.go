package run

import (
	"context"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/topology"
)

// pretending is a generator within this process whose counts are a function of the time since its
// launch.
type pretending struct {
	inProcess
	began   time.Time
	counted func(since time.Duration) count
}

func (g pretending) count() count {
	now := time.Now()
	c := g.counted(now.Sub(g.began))
	c.at = now
	return c
}

// measuredInVirtualTime executes a timed round without a server. The caller defines its rate and
// backlog, so that other processes do not affect them.
func measuredInVirtualTime(t *testing.T, phases scenario.Phases, v scenario.Validity, counted func(since time.Duration) count) (m measured) {
	t.Helper()
	s := small()
	s.Phases, s.Validity = phases, v
	s.Topology = scenario.Topology{Kind: scenario.NoTopology, Durability: "none"}
	s.Workloads[0].Driver = "null"
	// Otherwise no virtual time passes.
	s.Workloads[0].Think = scenario.Think{Kind: scenario.ThinkFixed, Min: 10 * time.Millisecond, Max: 10 * time.Millisecond}
	config := topology.Config{Topology: s.Topology, Dir: t.TempDir(), LogPath: filepath.Join(t.TempDir(), "log")}
	synctest.Test(t, func(t *testing.T) {
		cluster, err := topology.Start(t.Context(), config)
		require.NoError(t, err)
		p := plannedRound{number: 1, kind: timed}
		m.round = newRound(p)
		r := &runner{scenario: s, points: s.Plan(), peaks: make([]float64, 1), progress: newProgress(Options{}, s)}
		loads := newLoads(r, cluster, p)
		loads.generator = pretending{inProcess{loads}, time.Now(), counted}
		r.loadOn(t.Context(), loads, p, newInjection(s, &config), nil, &m)
		require.NoError(t, cluster.Stop(context.Background()))
	})
	return m
}
