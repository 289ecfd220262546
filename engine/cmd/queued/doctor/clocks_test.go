package doctor

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// running returns the address of a running server's admin listener.
func running(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) }))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

// The server read its clock between the request and the answer; that reading is compared with the
// wall clock.
func TestServerClockIsComparedWithTheWallClock(t *testing.T) {
	in := input(t)
	in.Config.Node.Admin = running(t)
	var server time.Duration // how far the clock is ahead when the server is asked
	const took = 100 * time.Millisecond
	at := now
	in.Host.Now = func() time.Time { return at }
	in.ServerClock = func(context.Context) (time.Time, error) {
		answer := at.Add(server)
		at = at.Add(took)
		return answer, nil
	}
	for ahead, want := range map[time.Duration]struct {
		level Level
		says  string
	}{
		50 * time.Millisecond: {Fit, "it agrees with this host's wall clock within 50ms"},
		// The clock may have been read at the end of the call.
		600 * time.Millisecond:  {Fit, "within 600ms"},
		601 * time.Millisecond:  {Unfit, "it is at least 501ms ahead of this host's wall clock; the bound is 500ms"},
		-501 * time.Millisecond: {Unfit, "it is at least 501ms behind this host's wall clock"},
		-10 * time.Second:       {Unfit, "it is at least 10s behind this host's wall clock"},
	} {
		server = ahead
		f := find(t, Run(t.Context(), in), "server's clock")
		assert.Equal(t, want.level, f.Level, "%v: %v", ahead, f)
		assert.Contains(t, f.Message, want.says, "%v", ahead)
		if ahead == -10*time.Second {
			assert.Contains(t, f.Remedy, "which takes about 8m20s")
		}
	}
	in.ServerClock = func(context.Context) (time.Time, error) { return time.Time{}, errors.New("no token") }
	f := find(t, Run(t.Context(), in), "server's clock")
	assert.Equal(t, Unknown, f.Level)
	assert.Contains(t, f.Message, "no token")
	in.Config.Node.Admin = ""
	for _, f := range Run(t.Context(), in) {
		assert.NotEqual(t, "server's clock", f.Check, "no server runs")
	}
}

func TestClusterClocksThatDiffer(t *testing.T) {
	in := clusterNode(t)
	in.Config.Node.Admin = running(t)
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer busy.Close() //nolint:errcheck // ends with the test
	in.Config.Node.Cluster.Listen = busy.Addr().String()
	clock := NodeClock{Node: "n2"}
	in.ClusterClocks = func(context.Context) ([]NodeClock, error) { return []NodeClock{{Node: "n1", Known: true}, clock}, nil }
	for _, c := range []struct {
		clock NodeClock
		level Level
		says  string
	}{
		{NodeClock{Known: true, Ahead: 3 * time.Millisecond, Error: 200 * time.Microsecond}, Fit, "that of n2 is 3ms ahead of this node's, ±200µs"},
		{NodeClock{Known: true, Ahead: -600 * time.Millisecond, Error: 100 * time.Millisecond}, Fit, "that of n2 is 600ms behind this node's, ±100ms"},
		{NodeClock{Known: true, Ahead: -601 * time.Millisecond, Error: 100 * time.Millisecond}, Unfit, "is 601ms behind this node's, ±100ms; the bound is 500ms"},
		{NodeClock{Known: true, Problem: "its clock is 10s ahead"}, Unfit, "n2 does not lead: its clock is 10s ahead"},
		{NodeClock{}, Warning, "n2 does not report its time"},
	} {
		clock, clock.Node = c.clock, "n2"
		all := Run(t.Context(), in)
		f := find(t, all, "cluster clocks")
		assert.Equal(t, c.level, f.Level, "%v", f)
		assert.Contains(t, f.Message, c.says)
		assert.Contains(t, find(t, all, "cluster listen").Message, "is in use by the running server")
	}
	in.ClusterClocks = func(context.Context) ([]NodeClock, error) { return nil, errors.New("no token") }
	f := find(t, Run(t.Context(), in), "cluster clocks")
	assert.Equal(t, Unknown, f.Level)
	assert.Contains(t, f.Message, "the server does not report the other nodes' clocks: no token")
}
