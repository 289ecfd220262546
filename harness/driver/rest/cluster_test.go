package rest

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/driver"
)

// The connections are spread over the nodes of a cluster, and leave a node that does not answer.
func TestNodesShareTheConnections(t *testing.T) {
	const nodes, perNode = 3, 4
	var asked [nodes]atomic.Int64
	var servers []*httptest.Server
	var addresses []string
	// The first requests are answered only when all connections have one in flight, so that each
	// request uses a separate connection.
	var arrived sync.WaitGroup
	arrived.Add(nodes * perNode)
	var late atomic.Bool
	for i := range nodes {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			asked[i].Add(1)
			if !late.Load() {
				arrived.Done()
				arrived.Wait()
			}
			_, _ = w.Write([]byte(`{"results":[{"id":"a"}]}`))
		}))
		defer s.Close()
		servers = append(servers, s)
		addresses = append(addresses, strings.TrimPrefix(s.URL, "http://"))
	}
	conn, err := Dial(driver.Target{HTTP: strings.Join(addresses, ",")}, time.Minute)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()
	p, err := conn.Producer(t.Context(), "t")
	require.NoError(t, err)
	enqueue := func() error { // through the current producer
		return p.Enqueue(t.Context(), []driver.Task{{Queue: "q"}}, make([]error, 1))
	}
	var all sync.WaitGroup
	for range nodes * perNode {
		all.Go(func() { assert.NoError(t, enqueue()) })
	}
	all.Wait()
	for i := range asked {
		assert.EqualValues(t, perNode, asked[i].Load(), "node %d", i+1)
	}

	// The outcome of a request to a node that has ended is unknown, and the connection leaves the
	// node.
	late.Store(true)
	servers[0].Close()
	gone, err := Dial(driver.Target{HTTP: addresses[0] + "," + addresses[1]}, time.Minute)
	require.NoError(t, err)
	defer func() { require.NoError(t, gone.Close()) }()
	p, err = gone.Producer(t.Context(), "t")
	require.NoError(t, err)
	require.ErrorContains(t, enqueue(), "connection refused")
	before := asked[1].Load()
	require.NoError(t, enqueue())
	require.NoError(t, enqueue())
	assert.Equal(t, before+2, asked[1].Load())
}

// The connections move to the node that an answer names, and elsewhere when that node no longer
// answers.
func TestConnectionsFollowTheLeader(t *testing.T) {
	const connections = 4
	var asked [3]atomic.Int64
	var leads atomic.Int64
	var servers []*httptest.Server
	var addresses []string
	for i := range asked {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			asked[i].Add(1)
			if at := int(leads.Load()); at != i {
				w.Header().Set("Prony-Leader", addresses[at])
			}
			_, _ = w.Write([]byte(`{"results":[{"id":"a"}]}`))
		}))
		defer s.Close()
		servers = append(servers, s)
		addresses = append(addresses, strings.TrimPrefix(s.URL, "http://"))
	}
	leads.Store(2)
	conn, err := Dial(driver.Target{HTTP: strings.Join(addresses[:2], ",")}, time.Minute)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()
	p, err := conn.Producer(t.Context(), "t")
	require.NoError(t, err)
	enqueue := func() error { return p.Enqueue(t.Context(), []driver.Task{{Queue: "q"}}, make([]error, 1)) }
	all := func() {
		var calls sync.WaitGroup
		for range connections {
			calls.Go(func() { assert.NoError(t, enqueue()) })
		}
		calls.Wait()
	}
	for range 10 {
		all()
	}
	assert.LessOrEqual(t, asked[0].Load()+asked[1].Load(), int64(connections), "each connection is redirected at most once")
	assert.EqualValues(t, 10*connections, asked[0].Load()+asked[1].Load()+asked[2].Load())

	leads.Store(1)
	servers[2].Close()
	failed := 0
	for range 10 * connections {
		if enqueue() != nil {
			failed++
		}
	}
	assert.LessOrEqual(t, failed, 1, "a connection leaves the node at its first failure")
	assert.GreaterOrEqual(t, asked[1].Load(), int64(10*connections-2))
}
