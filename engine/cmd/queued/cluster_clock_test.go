package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/buildtest"
	"github.com/pronybench/prony/engine/longtest"
	"github.com/pronybench/prony/engine/queuepb"
)

// newClocked prepares three servers of the build with planted faults. Each reads from a file how
// far its wall clock is ahead.
func newClocked(t *testing.T, ahead map[string]string) *cluster {
	t.Helper()
	planted, err := buildtest.Program("queued-planted", "engine/cmd/queued", "-tags", "planted")
	require.NoError(t, err)
	c := prepareCluster(t, "--durability", "none")
	c.binary = planted
	for _, id := range clusterNodes {
		c.nodes[id].env = []string{"PRONY_PLANTED_CLOCK=" + c.clockFile(id)}
		c.setClock(id, ahead[id])
	}
	return c
}

func (c *cluster) clockFile(id string) string { return filepath.Join(c.dir, id+".clock") }

// setClock sets how far a server's wall clock is ahead, optionally with a drift in parts per
// million.
func (c *cluster) setClock(id, ahead string) {
	c.Helper()
	require.NoError(c, os.WriteFile(c.clockFile(id)+".new", []byte(ahead), 0o600))
	require.NoError(c, os.Rename(c.clockFile(id)+".new", c.clockFile(id)))
}

// readyz returns a server's readiness report.
func (c *cluster) readyz(id string) string {
	c.Helper()
	defer http.DefaultClient.CloseIdleConnections()
	answer, err := http.Get("http://" + c.nodes[id].Admin + "/readyz")
	if err != nil {
		return err.Error()
	}
	defer answer.Body.Close() //nolint:errcheck // the body was read
	body, err := io.ReadAll(answer.Body)
	require.NoError(c, err)
	return string(body)
}

// leaseAccount records the leases of one task by this process's monotonic clock. The task is never
// settled.
type leaseAccount struct {
	c     *cluster
	lease time.Duration
	asked time.Time // the latest lease was granted after this time
	count int
}

// newAccount enqueues the task.
func (c *cluster) newAccount(lease time.Duration) *leaseAccount {
	c.Helper()
	require.Eventually(c, func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		out, err := c.nodes[c.leader()].api.Enqueue(ctx, &queuepb.EnqueueRequest{Tasks: []*queuepb.NewTask{{Queue: "q", MaxAttempts: 1000}}})
		return err == nil && out.GetResults()[0].GetError() == nil
	}, patience, 10*time.Millisecond)
	return &leaseAccount{c: c, lease: lease}
}

// next claims the task at each running server until one leases it. It fails the test if the lease
// begins before the previous one has lasted its full time: a server's clock runs at most 2 % fast.
func (l *leaseAccount) next() {
	l.c.Helper()
	require.Eventually(l.c, func() bool {
		for _, id := range l.c.up() {
			if l.try(id) {
				return true
			}
		}
		return false
	}, patience, 5*time.Millisecond, "no node leases the task")
}

func (l *leaseAccount) try(id string) bool {
	l.c.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	asked := time.Now()
	out, err := l.c.nodes[id].api.Claim(ctx, &queuepb.ClaimRequest{Queues: []string{"q"}, MaxTasks: 1, LeaseMs: uint64(l.lease.Milliseconds())})
	got := time.Now()
	if err != nil || len(out.GetTasks()) == 0 {
		return false
	}
	if l.count++; l.count > 1 {
		assert.GreaterOrEqual(l.c, got.Sub(l.asked), l.lease-l.lease/51-2*time.Millisecond, "lease %d began before the previous lease had ended", l.count)
	}
	l.asked = asked
	return true
}

// Servers start with wrong clocks, their clocks are stepped while they run, and they drift. Their
// leases must not overlap, and they must report the wrong clocks.
func TestLeasesDoNotOverlapWhateverTheClocks(t *testing.T) {
	longtest.Only(t)
	c := newClocked(t, map[string]string{"n1": "-400ms 500", "n2": "0s -200", "n3": "10s"})
	c.start(clusterNodes...)
	leader := c.leader("n1", "n2")
	l := c.newAccount(3 * time.Second)
	l.next()
	wrong := func(id, why string) {
		t.Helper()
		require.Eventually(t, func() bool {
			out, err := c.adminOf(leader).GetCluster(t.Context(), &adminpb.GetClusterRequest{})
			if err != nil {
				return false
			}
			for _, m := range out.GetMembers() {
				if m.GetNode() == id {
					return m.GetClockProblem() != "" && m.ClockAheadUs != nil
				}
			}
			return false
		}, patience, 20*time.Millisecond, "the status of %s does not report that the clock of %s is wrong", leader, id)
		assert.Contains(t, c.readyz(id), why)
	}
	wrong("n3", "its clock is")

	// The node with the wrong clock is asked to take over, and then is one of two remaining nodes.
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, err := c.adminOf(leader).TransferLeadership(ctx, &adminpb.TransferLeadershipRequest{Node: "n3"})
	require.ErrorContains(t, err, `the clock of "n3" differs by more than 500ms`)
	l.next()
	c.kill(leader)
	left := c.others("n3")[0]
	require.Eventually(t, func() bool {
		for _, id := range []string{"n3", left} {
			if routes := c.routes(id); len(routes) == 0 || routes[0].GetHere() {
				return false
			}
		}
		return containsAll(c.readyz(left), "that of n3, the only other voter that answers") && containsAll(c.readyz("n3"), "that of "+left)
	}, patience, 50*time.Millisecond, "two voters whose clocks differ do not both refuse to lead")
	c.start(leader)
	l.next()

	// A restart adopts the wall clock, which here is almost right.
	c.setClock("n3", "400ms")
	c.stop("n3")
	c.start("n3")
	c.transfer("n3")
	l.next()

	// When a leader's clock is stepped beyond the bound, another node takes the lead.
	c.setClock("n3", "1h 5000")
	leader = c.leader("n1", "n2")
	l.next()
	wrong("n3", "its clock is")
}

func containsAll(text string, parts ...string) bool {
	for _, p := range parts {
		if !strings.Contains(text, p) {
			return false
		}
	}
	return true
}

// 'queued doctor' reports that a server's clock differs from the host's clock.
func TestDoctorFindsAServerWhoseClockIsWrong(t *testing.T) {
	longtest.Only(t)
	c := newClocked(t, map[string]string{"n1": "0s", "n2": "0s", "n3": "10s"})
	c.start(clusterNodes...)
	c.leader("n1", "n2")
	m := c.nodes["n3"]
	s := newShell(t)
	s.until(func(r ran) bool {
		return r.code == exitFailed && containsAll(r.out, "server's clock", "ahead of this host's wall clock", "cluster clocks", "n3 does not lead: its clock is")
	}, "doctor", "--data", m.data, "--auth", "off", "--listen", m.Listen[0], "--http", "", "--admin", m.Admin, "--cluster-node", "n3", "--cluster-listen", "127.0.0.1:0",
		"--cluster-certs", m.certs, "--cluster-peers", fmt.Sprintf("n3=%s", c.address("any", "n3")))
}
