package replica

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/pronybench/prony/engine/internal/stalls"
	"github.com/pronybench/prony/engine/internal/waittest"
	"github.com/pronybench/prony/engine/netproxy"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/replica/logs"
	"github.com/pronybench/prony/engine/shard"
	"github.com/pronybench/prony/engine/storage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = waittest.Most

const step = 2 * time.Millisecond

// group is the members of one shard's group, connected by proxied links that the test controls.
type group struct {
	testing.TB

	net     *netproxy.Mesh
	members map[string]*member
	change  func(*Options)
	unknown int // tasks of fill whose outcome is unknown, because of an election
}

// member is a member of a group and its host: it runs the shard while it leads.
type member struct {
	testing.TB
	*Replica // nil while it is down

	id, dir string
	files   *vfs.MemFS // has the store and the logs; nil: they are in dir
	logs    *logs.Store

	shard  atomic.Pointer[shard.Shard]
	log    atomic.Pointer[storage.Log] // of its last tenure
	failed atomic.Pointer[error]

	stalls *stalls.Log // of its slow commits
	losing func()      // called before the member loses the shard; nil: no call
}

// newGroup starts a group of three.
func newGroup(t testing.TB, change func(*Options)) *group {
	t.Helper()
	return newGroupOn(t, change, func() *vfs.MemFS { return nil })
}

// newGroupOn starts a group of three whose stores and logs are in memory.
func newGroupOn(t testing.TB, change func(*Options), files func() *vfs.MemFS) *group {
	t.Helper()
	g := &group{TB: t, net: netproxy.New(), members: map[string]*member{}, change: change}
	for _, id := range []string{"n1", "n2", "n3"} {
		g.members[id] = &member{TB: t, id: id, dir: t.TempDir(), files: files()}
	}
	t.Cleanup(func() { // before the folders are removed
		for _, m := range g.members {
			m.stepDown()
			g.stop(m)
		}
		assert.NoError(t, g.net.Close())
	})
	for _, m := range g.members {
		g.start(m)
	}
	return g
}

// stream provides the connections between the members.
type stream struct {
	net.Listener
}

// greeting is the first byte that a member sends on an accepted connection. The dialer waits for
// it, like for the handshake of package peer.
const greeting = 'g'

func (s stream) Accept() (net.Conn, error) {
	c, err := s.Listener.Accept()
	if err == nil {
		_, _ = c.Write([]byte{greeting}) // the next read reports an error
	}
	return c, err
}

func (s stream) Dial(address raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	c, err := net.DialTimeout("tcp", string(address), timeout)
	if err != nil {
		return nil, err
	}
	err = c.SetReadDeadline(time.Now().Add(timeout))
	if err == nil {
		_, err = io.ReadFull(c, make([]byte, 1))
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, c.SetReadDeadline(time.Time{})
}

// addresses maps members to the links that lead to them.
type addresses struct {
	g    *group
	from string
}

func (a addresses) ServerAddr(id raft.ServerID) (raft.ServerAddress, error) {
	address, err := a.g.net.Address(a.from, string(id))
	return raft.ServerAddress(address), err
}

func (g *group) start(m *member) {
	g.Helper()
	require.Nil(g, m.Replica)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(g, err)
	m.stalls = stalls.New()
	var files vfs.FS
	if m.files != nil {
		files = m.files
	}
	m.logs, err = logs.Open(filepath.Join(m.dir, "raft"), logs.Options{Durability: storage.None, Stalls: m.stalls, FS: files})
	require.NoError(g, err)
	var members []raft.Server
	for _, id := range []string{"n1", "n2", "n3"} {
		members = append(members, raft.Server{ID: raft.ServerID(id), Address: raft.ServerAddress(id + ":1")})
	}
	o := Options{
		Shard: 0, Node: m.id, Dir: filepath.Join(m.dir, "store"), Snapshots: filepath.Join(m.dir, "snapshots"), Logs: m.logs.Group(0),
		Stream: stream{l}, Addresses: addresses{g, m.id}, Bootstrap: members, Host: m, ElectionTimeout: 300 * time.Millisecond,
		Store: storage.Options{Durability: storage.None, Stalls: m.stalls, FS: files},
	}
	if testing.Verbose() {
		o.Log = slog.New(slog.NewTextHandler(g.Output(), nil)).With("node", m.id)
	}
	if g.change != nil {
		g.change(&o)
	}
	g.net.Listens(m.id, l.Addr().String())
	m.Replica, err = Open(o)
	require.NoError(g, err)
}

// stepDown ends a member's leadership. Otherwise, a leader keeps it for the leader lease after
// the others have stopped.
func (m *member) stepDown() {
	if m.Replica != nil {
		m.transport.deliver(&raft.RequestVoteRequest{RPCHeader: m.transport.header(), Term: m.Term() + 1, LeadershipTransfer: true})
	}
}

// stop closes a member within a time limit.
func (g *group) stop(m *member) {
	g.Helper()
	if m.Replica == nil {
		return
	}
	closed := make(chan error, 1)
	go func() { closed <- m.Close() }()
	select {
	case err := <-closed:
		assert.NoError(g, err)
	case <-time.After(patience):
		assert.Fail(g, "a member does not close")
		return
	}
	g.net.Listens(m.id, "")
	assert.NoError(g, m.logs.Close())
	m.Replica = nil
}

// Lead implements Host.
func (m *member) Lead(_ int, store *storage.Store, log storage.Log, tenure storage.Tenure) error {
	m.log.Store(&log)
	s, err := shard.New(store, shard.Options{Replicate: log, Tenure: tenure, Failed: func(error) { m.Restart() }, Stalls: m.stalls})
	if err != nil {
		return err
	}
	m.shard.Store(s)
	return nil
}

// Lose implements Host.
func (m *member) Lose(int) {
	if m.losing != nil {
		m.losing()
	}
	if s := m.shard.Swap(nil); s != nil { // the tenure may end before the shard is stored
		s.Lose()
	}
}

// LeaderChanged implements Host.
func (m *member) LeaderChanged(int) {}

// SystemChanged implements Host.
func (m *member) SystemChanged(int) {}

// Failed implements Host.
func (m *member) Failed(_ int, err error) { m.failed.CompareAndSwap(nil, &err) }

// Swap implements Host.
func (m *member) Swap(swap func() error) error {
	return swap()
}

// leader waits until one of the named members leads, or any member if none is named.
func (g *group) leader(of ...string) (leads *member) {
	g.Helper()
	if len(of) == 0 {
		of = []string{"n1", "n2", "n3"}
	}
	require.Eventually(g, func() bool {
		for _, id := range of {
			if m := g.members[id]; m.Replica != nil && m.shard.Load() != nil {
				leads = m
				return true
			}
		}
		return false
	}, patience, step, "no member leads")
	return leads
}

func (g *group) others(than *member) (ids []string) {
	for id := range g.members {
		if id != than.id {
			ids = append(ids, id)
		}
	}
	return ids
}

// enqueue stores a task at a member. It returns an error if the member refuses it.
func (m *member) enqueue(payload []byte) error {
	s := m.shard.Load()
	if s == nil {
		return shard.ErrNotLeader
	}
	type answer struct {
		out []queue.Enqueued
		err error
	}
	c := make(chan answer, 1)
	n := queue.NewTask{Queue: "q", Payload: payload}
	n.AddHeaders(map[string]string{"kind": m.id})
	err := s.Enqueue("t", []queue.NewTask{n}, func(out []queue.Enqueued, err error) { c <- answer{out, err} })
	if err != nil {
		return err
	}
	select {
	case a := <-c:
		if a.err != nil {
			return a.err
		}
		return a.out[0].Err
	case <-time.After(patience):
		return fmt.Errorf("no answer at %s", m.id)
	}
}

// fill enqueues at the current leader until n tasks are stored.
func (g *group) fill(n int, of ...string) {
	g.Helper()
	for n > 0 {
		if err := g.leader(of...).enqueue(make([]byte, 1000)); err == nil {
			n--
		} else if errors.Is(err, shard.ErrUnknownOutcome) {
			g.unknown++
		}
	}
}

// filled checks the number of tasks that are stored after fill has stored n.
func (g *group) filled(n int, stored uint64) {
	g.Helper()
	assert.GreaterOrEqual(g, stored, uint64(n))
	assert.LessOrEqual(g, stored, uint64(n+g.unknown))
}

// transfer makes the leader hand over to a member, until the member leads. On a busy host, an
// election prevents a hand-over, or moves the lead again.
func (g *group) transfer(to string) {
	g.Helper()
	for ends := time.Now().Add(patience); ; {
		leader := g.leader()
		if leader.id == to {
			return
		}
		g.caughtUp(g.members[to], leader)
		if err := leader.Transfer(to); err != nil {
			g.Log("transfer: ", err)
		}
		require.True(g, time.Now().Before(ends), "no leader hands over to %s", to)
	}
}

// caughtUp waits until m has applied everything that with has applied.
func (g *group) caughtUp(m, with *member) {
	g.Helper()
	at := with.Store().Position()
	require.Eventually(g, func() bool { return m.Store().Position().Index >= at.Index }, patience, step, "%s does not catch up", m.id)
}

// same checks that all members have the same content. An election adds an entry to the log, so it
// compares contents that were all read at one position.
func (g *group) same() {
	g.Helper()
	leader := g.leader()
	g.fill(1, leader.id)
	audits, tasks := map[string][]storage.AuditedQueue{}, map[string]map[uint64]string{}
	for ends := time.Now().Add(patience); ; <-time.After(step) {
		require.True(g, time.Now().Before(ends), "the members do not reach the same position")
		at := leader.Store().Position()
		if !g.allAt(at) {
			continue
		}
		for id, m := range g.members {
			var err error
			audits[id], err = m.Store().Audit(1_000)
			require.NoError(g, err)
			tasks[id] = m.tasks()
		}
		if g.allAt(at) {
			break
		}
	}
	for id, m := range g.members {
		assert.Equal(g, audits[leader.id], audits[id], "%s and %s", id, leader.id)
		assert.Equal(g, tasks[leader.id], tasks[id], "%s and %s", id, leader.id)
		if f := m.failed.Load(); f != nil {
			assert.NoError(g, *f, id)
		}
	}
}

func (g *group) allAt(p storage.Position) bool {
	for _, m := range g.members {
		if m.Store().Position() != p {
			return false
		}
	}
	return true
}

// tasks returns the headers and payloads of the first fresh tasks of a member's store, by seq.
func (m *member) tasks() map[uint64]string {
	m.Helper()
	all, _, err := m.Store().Fresh(queue.Refill{Limit: 100, PayloadBytesMax: 1 << 30})
	require.NoError(m, err)
	require.NotEmpty(m, all)
	out := map[uint64]string{}
	for _, t := range all {
		headers, payload := t.Task.Split()
		require.NotEmpty(m, headers.Get("kind"))
		out[t.Seq] = fmt.Sprint(headers.Map(), " ", string(payload))
	}
	return out
}

// loaded has clients enqueue at a member until ctx ends.
func (m *member) loaded(ctx context.Context, clients int) (done *sync.WaitGroup) {
	done = &sync.WaitGroup{}
	for range clients {
		done.Go(func() {
			for ctx.Err() == nil {
				if err := m.enqueue([]byte("x")); err != nil {
					<-time.After(step)
				}
			}
		})
	}
	return done
}
