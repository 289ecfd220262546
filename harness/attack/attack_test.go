package attack

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/pronybench/prony/engine/buildtest"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/topology"
)

const (
	// patience bounds waits for events that must happen. It does not test speed.
	patience = 60 * time.Second
	tick     = 10 * time.Millisecond
)

var queued string // the real server, built once for all tests

func TestMain(m *testing.M) {
	if IsChild(os.Args) {
		ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer cancel()
		os.Exit(Main(ctx, os.Stdout, os.Stderr))
	}
	var err error
	if queued, err = buildtest.Program("queued", "engine/cmd/queued"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// served starts a server and returns a plan that attacks it.
func served(t *testing.T) (*topology.Cluster, Plan) {
	t.Helper()
	return servedBy(t, scenario.Topology{Kind: "single", Shards: 1, Durability: "none", Listen: "tcp"})
}

func servedBy(t *testing.T, of scenario.Topology) (*topology.Cluster, Plan) {
	t.Helper()
	dir := t.TempDir()
	cluster, err := topology.Start(t.Context(), topology.Config{
		Binary: queued, Dir: dir, LogPath: filepath.Join(dir, "server.log"),
		Topology: of,
	})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, cluster.Stop(context.WithoutCancel(t.Context()))) })
	first := cluster.Servers()[0].Node()
	return cluster, Plan{Address: first.Address, Admin: first.Admin, Token: cluster.Token, CA: cluster.CA, Clients: 1}
}

// Each kind of attack reaches a real server. The server refuses attacks without a token, and serves
// those that a tenant is allowed to make.
func TestEachKindReachesAServer(t *testing.T) {
	cluster, plan := served(t)
	for _, kind := range scenario.AttackKinds {
		t.Run(kind, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			plan := plan
			plan.Kinds = []string{kind}
			a := newTallied(plan)
			done := make(chan struct{})
			var counts []result.Attack
			go func() {
				defer close(done)
				var err error
				counts, err = a.run(ctx)
				assert.NoError(t, err)
			}()
			// The first try has ended.
			require.Eventually(t, func() bool { return a.tallies[0].tries.Load() >= 2 }, patience, tick)
			cancel()
			<-done
			require.Len(t, counts, 1)
			assert.Equal(t, kind, counts[0].Kind)
			assert.Equal(t, kind == scenario.AttackEmptyTasks, counts[0].Refused > 0, "%+v", counts[0])
			require.NoError(t, cluster.Failure())
		})
	}
	assert.True(t, cluster.Servers()[0].Running(), "the server survives all attacks")
}

// All connections use TLS: those without a token, of the tenant, and of the admin listener.
func TestAttacksOverTLS(t *testing.T) {
	_, plan := servedBy(t, scenario.Topology{Kind: "single", Shards: 1, Durability: "none", Listen: "tcp", TLS: true})
	require.NotEmpty(t, plan.CA)
	for kind, refused := range map[string]bool{scenario.AttackEmptyTasks: true, scenario.AttackMassCancels: false} {
		ctx, cancel := context.WithCancel(t.Context())
		plan.Kinds = []string{kind}
		a := newTallied(plan)
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, err := a.run(ctx)
			assert.NoError(t, err)
		}()
		// The first try has ended.
		require.Eventually(t, func() bool { return a.tallies[0].tries.Load() >= 2 }, patience, tick)
		cancel()
		<-done
		assert.Zero(t, a.tallies[0].failed.Load(), kind)
		assert.Equal(t, refused, a.tallies[0].refused.Load() > 0, kind)
	}
}

func TestAPlanIsChecked(t *testing.T) {
	for want, plan := range map[string]Plan{
		`unknown kind "pols"`:              {Address: "127.0.0.1:1", Kinds: []string{"pols"}},
		"is not on the loopback interface": {Address: "192.0.2.1:7070"},
		"address: ":                        {Address: "localhost"},
		`admin "192.0.2.1:7071" is not on`: {Address: "127.0.0.1:1", Admin: "192.0.2.1:7071"},
	} {
		_, err := Run(t.Context(), plan)
		assert.ErrorContains(t, err, want)
	}
}

func start(t *testing.T, plan Plan) (*Process, error) {
	t.Helper()
	executable, err := os.Executable()
	require.NoError(t, err)
	dir := t.TempDir()
	return Start(executable, plan, filepath.Join(dir, "report.json"), filepath.Join(dir, "log"))
}

func TestAProcessAttacksUntilItIsStopped(t *testing.T) {
	_, plan := served(t)
	plan.Kinds = []string{scenario.AttackManyQueues, scenario.AttackLongErrors}
	p, err := start(t, plan)
	require.NoError(t, err)
	assert.NotEqual(t, os.Getpid(), p.PID())
	counts, err := p.Stop()
	require.NoError(t, err)
	require.Len(t, counts, 2)
	assert.Positive(t, counts[1].Tries)
}

// An attack that did not run is an error, because the figures of the round would be those of a
// server without attackers.
func TestAnAttackThatEndsByItselfIsAnError(t *testing.T) {
	_, err := start(t, Plan{Address: "192.0.2.1:1", Kinds: []string{scenario.AttackLongPolls}, Clients: 1})
	require.ErrorContains(t, err, "the attack ended by itself: exit status 1")
	require.ErrorContains(t, err, "is not on the loopback interface")

	_, plan := served(t)
	plan.Kinds = []string{scenario.AttackLongPolls}
	p, err := start(t, plan)
	require.NoError(t, err)
	require.NoError(t, p.process.Kill())
	_, err = p.Stop()
	assert.ErrorContains(t, err, "the attack ended by itself: signal: killed")
}
