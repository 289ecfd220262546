package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/internal/certstest"
	"github.com/pronybench/prony/engine/internal/historytest"
	"github.com/pronybench/prony/engine/netproxy"
	"github.com/pronybench/prony/engine/queuepb"
)

// cluster is three server processes with separate data folders. Each pair of servers is connected
// by a link that the test can block. Clients also reach each server over a link, whose address
// survives a restart of the server.
type cluster struct {
	*testing.T

	net    *netproxy.Mesh
	dir    string // parent of the servers' folders
	args   []string
	binary string // the program; "" for the regular build
	nodes  map[string]*server
	conns  []*grpc.ClientConn
}

// server is one of the servers.
type server struct {
	id, data string
	certs    string // folder of the node's certificate
	*process        // nil while the server is down

	args []string // additional arguments
	env  []string // additional variables

	api   queuepb.QueueServiceClient // over the clients' link to this server only
	admin *grpc.ClientConn           // to this process
}

var clusterNodes = []string{"n1", "n2", "n3"}

// checkMost bounds the linearizability check of a history. A check that takes longer is
// inconclusive.
const checkMost = 30 * time.Second

// undisturbed are the settings of a cluster that must not hold an election by itself: on an
// overloaded host, processes pause for longer than the default timeouts. The election timeout also
// bounds a transfer of leadership. An election after a kill does not wait for these times.
var undisturbed = []string{"--cluster-election-timeout", "6s", "--cluster-heartbeat-timeout", "6s", "--cluster-leader-lease", "6s"}

// slackMs bounds the apparent difference between the clocks of processes on one host.
const slackMs = 20

// newCluster starts three servers and waits for a leader.
func newCluster(t *testing.T, args ...string) *cluster {
	t.Helper()
	c := prepareCluster(t, args...)
	c.start(clusterNodes...)
	c.leader()
	return c
}

// prepareCluster is newCluster without starting the servers.
func prepareCluster(t *testing.T, args ...string) *cluster {
	t.Helper()
	c := &cluster{T: t, dir: t.TempDir(), net: netproxy.New(), nodes: map[string]*server{}, args: append([]string{"--auth", "off"}, args...)}
	t.Cleanup(func() {
		if t.Failed() {
			for _, id := range c.known() {
				if m := c.nodes[id]; m.process != nil {
					t.Logf("the log of %s:\n%s", id, lastLines(m.log.String(), 60))
				}
			}
		}
		c.down()
		for _, conn := range c.conns {
			assert.NoError(t, conn.Close())
		}
		assert.NoError(t, c.net.Close())
	})
	for _, id := range clusterNodes {
		c.add(id)
	}
	return c
}

// add registers a server without starting it.
func (c *cluster) add(id string, args ...string) {
	c.Helper()
	m := &server{id: id, data: filepath.Join(c.dir, id), certs: certstest.Dir(c.T, id), args: args}
	conn, err := grpc.NewClient("passthrough:///"+c.address("client", "api."+id), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithConnectParams(grpc.ConnectParams{MinConnectTimeout: time.Second}))
	require.NoError(c, err)
	c.conns = append(c.conns, conn)
	m.api = queuepb.NewQueueServiceClient(conn)
	c.nodes[id] = m
}

func (c *cluster) address(from, to string) string {
	c.Helper()
	address, err := c.net.Address(from, to)
	require.NoError(c, err)
	return address
}

func (c *cluster) known() []string { return slices.Sorted(maps.Keys(c.nodes)) }

// up returns the running servers.
func (c *cluster) up() (ids []string) {
	for _, id := range c.known() {
		if c.nodes[id].process != nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// others returns the running servers except one.
func (c *cluster) others(than string) []string {
	return slices.DeleteFunc(c.up(), func(id string) bool { return id == than })
}

// start starts stopped servers concurrently.
func (c *cluster) start(ids ...string) {
	c.Helper()
	for _, id := range ids {
		m := c.nodes[id]
		peers := make([]string, 0, len(clusterNodes))
		for _, other := range clusterNodes {
			from := id
			if other == id {
				from = "any"
			}
			peers = append(peers, other+"="+c.address(from, other))
		}
		args := slices.Concat([]string{
			"--data", m.data, "--cluster-node", id, "--cluster-listen", "127.0.0.1:0", "--cluster-peers", strings.Join(peers, ","), "--cluster-certs", m.certs,
		}, c.args, m.args)
		m.process = launch(c.T, filepath.Join(c.dir, id+".addresses.json"), func(args []string) *exec.Cmd {
			command := exec.Command(cmp.Or(c.binary, args[0]), args[1:]...)
			command.Env = append(os.Environ(), m.env...)
			return command
		}, args...)
	}
	for _, id := range ids {
		m := c.nodes[id]
		m.serves()
		var at struct{ Cluster string }
		text, err := os.ReadFile(m.file)
		require.NoError(c, err)
		require.NoError(c, json.Unmarshal(text, &at))
		require.NotEmpty(c, at.Cluster, "%s", text)
		c.net.Listens(id, at.Cluster)
		c.net.Listens("api."+id, m.Listen[0])
		m.admin, err = grpc.NewClient("passthrough:///"+m.Admin, grpc.WithTransportCredentials(insecure.NewCredentials()))
		require.NoError(c, err)
	}
}

// gone records that a server's process has ended.
func (c *cluster) gone(id string) {
	m := c.nodes[id]
	m.process = nil
	if m.admin != nil {
		assert.NoError(c, m.admin.Close())
		m.admin = nil
	}
	c.net.Listens(id, "")
	c.net.Listens("api."+id, "")
}

// kill crashes servers simultaneously.
func (c *cluster) kill(ids ...string) {
	c.Helper()
	for _, id := range ids {
		require.NoError(c, c.nodes[id].command.Process.Kill())
	}
	for _, id := range ids {
		<-c.nodes[id].exited
		c.gone(id)
	}
}

// stop shuts a server down in order.
func (c *cluster) stop(id string) {
	c.Helper()
	m := c.nodes[id]
	code := m.terminate(syscall.SIGTERM)
	require.Zero(c, code, lastLines(m.log.String(), 60))
	c.gone(id)
}

// down kills the servers that still run.
func (c *cluster) down() {
	c.net.Heal()
	for _, id := range c.up() {
		_ = c.nodes[id].command.Process.Signal(syscall.SIGCONT)
		c.nodes[id].kill()
		c.gone(id)
	}
}

func (c *cluster) signal(id string, s syscall.Signal) {
	c.Helper()
	require.NoError(c, c.nodes[id].command.Process.Signal(s))
}

// wipe removes the data folder of a stopped server.
func (c *cluster) wipe(id string) {
	c.Helper()
	require.Nil(c, c.nodes[id].process)
	require.NoError(c, os.RemoveAll(c.nodes[id].data))
}

// routes asks one server for the leaders of the shards; nil if it does not answer.
func (c *cluster) routes(id string) []*queuepb.Route {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	out, err := c.nodes[id].api.GetRoutes(ctx, &queuepb.GetRoutesRequest{})
	if err != nil {
		return nil
	}
	return out.GetRoutes()
}

// leader waits until one of the given servers, by default of all running ones, leads shard 0, and
// returns its id.
func (c *cluster) leader(of ...string) (leads string) {
	c.Helper()
	if len(of) == 0 {
		of = c.up()
	}
	require.Eventually(c, func() bool {
		for _, id := range of {
			if routes := c.routes(id); len(routes) > 0 && routes[0].GetHere() {
				leads = id
				return true
			}
		}
		return false
	}, patience, 5*time.Millisecond, "none of %v leads", of)
	return leads
}

// follower returns a server that does not lead.
func (c *cluster) follower() string {
	c.Helper()
	return c.others(c.leader())[0]
}

func (c *cluster) adminOf(id string) adminpb.AdminServiceClient {
	c.Helper()
	return adminpb.NewAdminServiceClient(c.nodes[id].admin)
}

// stored asks a server how many tasks the cluster has; -1 if it does not answer.
func (c *cluster) stored(id string) int {
	c.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	out, err := c.adminOf(id).ListQueues(ctx, &adminpb.ListQueuesRequest{})
	if err != nil {
		return -1
	}
	n := uint64(0)
	for _, q := range out.GetQueues() {
		n += q.GetReady() + q.GetDelayed() + q.GetLeased() + q.GetDead()
	}
	return int(n)
}

// dial returns a client that knows all servers.
func (c *cluster) dial() *client.Client {
	c.Helper()
	addresses := make([]string, 0, len(clusterNodes))
	for _, id := range clusterNodes {
		addresses = append(addresses, c.address("client", "api."+id))
	}
	out, err := client.Dial(strings.Join(addresses, ","))
	require.NoError(c, err)
	c.Cleanup(func() { assert.NoError(c, out.Close()) })
	return out
}

// caller returns a client of one server only.
func (c *cluster) caller(r *historytest.Recorder, number int, node, queue string) *historytest.Caller {
	return &historytest.Caller{Recorder: r, API: c.nodes[node].api, Client: number, Queue: queue, Lease: clusterLease, Timeout: 5 * time.Second}
}

// clusterLease is short, so that tasks leased by lost workers return within the test.
const clusterLease = 2 * time.Second

// load is a set of running clients.
type load struct {
	*historytest.Load
	c       *cluster
	stop    chan struct{}
	running sync.WaitGroup
	cancel  context.CancelFunc
}

// load starts producers, half of which use idempotency keys, and workers.
func (c *cluster) load(change ...func(*historytest.Load)) *load {
	c.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 4*patience)
	l := &load{c: c, stop: make(chan struct{}), cancel: cancel, Load: &historytest.Load{
		Recorder: historytest.NewRecorder(), Client: c.dial(), Queues: []string{"a", "b"}, Lease: clusterLease, Every: 5 * time.Millisecond, Untidy: true,
	}}
	for _, f := range change {
		f(l.Load)
	}
	for i := range 4 {
		l.running.Go(func() { l.Produce(ctx, l.stop, i%2 == 0) })
	}
	for range 2 {
		l.running.Go(func() { l.Work(ctx, l.stop, 4) })
	}
	c.Cleanup(func() {
		cancel()
		l.running.Wait()
	})
	return l
}

// goOn waits until more further tasks are completed.
func (l *load) goOn(more int) {
	l.c.Helper()
	before := l.Recorder.Count(historytest.Complete, historytest.OK)
	if assert.Eventually(l.c, func() bool { return l.Recorder.Count(historytest.Complete, historytest.OK) >= before+more }, patience, 5*time.Millisecond) {
		return
	}
	ops := l.Recorder.Ops()
	l.c.Logf("the last calls:\n%v\nin all: %s", ops[max(0, len(ops)-20):], counts(ops))
	require.Fail(l.c, "the load does not continue", "%d were completed before, and not %d more", before, more)
}

// end stops the clients, completes the remaining tasks, and checks the history against the
// guarantees.
func (l *load) end() []historytest.Op {
	l.c.Helper()
	close(l.stop)
	l.running.Wait()
	return l.c.drain(l.Recorder, l.Queues...)
}

// drain completes all remaining tasks and checks the history against the guarantees.
func (c *cluster) drain(r *historytest.Recorder, queues ...string) []historytest.Op {
	c.Helper()
	leader := c.leader()
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	rest := &historytest.Load{Recorder: r, Client: c.dial(), Queues: queues, Lease: clusterLease}
	done := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() { rest.Work(ctx, done, 16) })
	left := 0
	assert.Eventually(c, func() bool {
		left = c.stored(leader)
		return left == 0
	}, 2*patience, 20*time.Millisecond, "remaining tasks are not delivered")
	close(done)
	running.Wait()
	if left != 0 {
		c.Logf("%d tasks remain", left)
	}
	ops := r.Ops()
	for _, problem := range historytest.Check(ops, historytest.Rules{SkewMs: slackMs}) {
		c.Error(problem)
	}
	c.Log("in all:", counts(ops))
	return ops
}

// counts summarizes the number of operations by outcome.
func counts(ops []historytest.Op) string {
	n := map[string]int{}
	for _, o := range ops {
		n[fmt.Sprintf("%s %s", o.Kind, o.Outcome)]++
	}
	return fmt.Sprint(n)
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
