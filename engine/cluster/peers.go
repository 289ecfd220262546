package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/peerpb"
	"github.com/pronybench/prony/engine/rpc/route"
	"github.com/pronybench/prony/engine/storage/disk"
)

const (
	// askEvery is how often a node queries the state and the listeners of the other
	// nodes.
	askEvery = time.Second
	askMax   = time.Second
	// redialMax is the maximum pause before a node dials another node again.
	redialMax = 500 * time.Millisecond
)

// directory stores what this node knows about the members. Its methods are safe for concurrent use.
type directory struct {
	mu       sync.Mutex
	members  map[string]route.Member // by ID: the members of the groups, and this node
	presence map[string]*presence    // by ID: one for each element of members
	conns    map[string]*grpc.ClientConn
	closed   bool
}

func newDirectory() directory {
	return directory{members: map[string]route.Member{}, presence: map[string]*presence{}, conns: map[string]*grpc.ClientConn{}}
}

func (d *directory) member(node string) (route.Member, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	m, ok := d.members[node]
	return m, ok
}

func (d *directory) hasSpace(node string) bool {
	m, ok := d.member(node)
	return ok && m.Reachable && m.Disk <= adminpb.DiskState_DISK_STATE_OK
}

func (d *directory) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	var errs []error
	for _, c := range d.conns {
		errs = append(errs, c.Close())
	}
	clear(d.conns)
	return errors.Join(errs...)
}

// Conn implements route.Cluster.
func (k *Cluster) Conn(node string) (grpc.ClientConnInterface, error) {
	return k.conn(node)
}

func (k *Cluster) conn(node string) (*grpc.ClientConn, error) {
	d := &k.peers
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, errClosed
	}
	if c := d.conns[node]; c != nil {
		return c, nil
	}
	if _, known := d.members[node]; !known {
		return nil, fmt.Errorf("node %q is not a member of the cluster", node)
	}
	c, err := k.newConn(func(ctx context.Context) (net.Conn, error) { return k.mux.DialCalls(ctx, node, "") })
	if err != nil {
		return nil, fmt.Errorf("connect to node %q: %w", node, err)
	}
	d.conns[node] = c
	return c, nil
}

// newConn returns a connection for calls. The connections that dial returns must already be
// authenticated and encrypted.
func (k *Cluster) newConn(dial func(context.Context) (net.Conn, error)) (*grpc.ClientConn, error) {
	retry := backoff.DefaultConfig
	retry.BaseDelay, retry.MaxDelay = redialMax/10, redialMax
	return grpc.NewClient("passthrough:///peer",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return dial(ctx) }),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: retry, MinConnectTimeout: askMax}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(peerMessageBytesMax)),
	)
}

// peerMessageBytesMax is the maximum size of a forwarded answer in bytes.
const peerMessageBytesMax = 64 << 20

// watchPeers keeps the directory up to date. It also makes the node join the cluster if the
// configuration requires this. If the node is removed while it runs, it does not join again,
// because an operator has removed it.
func (k *Cluster) watchPeers() {
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	var joined, removed bool
	for {
		k.queryPeers(k.ctx)
		_, member := k.peers.member(k.Self())
		switch {
		case !joined:
			joined = k.join(member)
		case !member && !removed:
			removed = true
			k.log.Warn("this node was removed from the cluster: stop it, or add it again with 'queued cluster add'")
		}
		select {
		case <-k.ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (k *Cluster) updateMembers() map[string]string {
	k.updating.Lock() // prevents an older list of members from overwriting a newer one
	defer k.updating.Unlock()
	addresses, voters := k.currentMembers()
	k.mux.SetMembers(addresses)
	k.logMembers(k.peers.update(addresses, voters, time.Now()))
	return addresses
}

// update replaces the members. It returns the differences between the previous members and the new
// ones.
func (d *directory) update(addresses map[string]string, voters []string, now time.Time) (changes []memberChange) {
	d.mu.Lock()
	defer d.mu.Unlock()
	found := map[string]route.Member{}
	for id, address := range addresses {
		m := d.members[id] // keep what is known of the node until it answers
		m.Node, m.PeerAddress, m.Voter = id, address, slices.Contains(voters, id)
		found[id] = m
		if d.presence[id] == nil {
			d.presence[id] = newPresence(now)
		}
	}
	changes = changesOf(d.members, found)
	d.members = found
	for id := range d.presence {
		if _, still := found[id]; !still {
			delete(d.presence, id)
		}
	}
	for id, c := range d.conns {
		if _, still := found[id]; !still {
			delete(d.conns, id)
			_ = c.Close() // the connection belongs to a removed node
		}
	}
	return changes
}

// queryPeers asks the members of all groups for their state, and returns their answers by ID.
func (k *Cluster) queryPeers(ctx context.Context) map[string]*peerpb.GetInfoResponse {
	addresses := k.updateMembers()
	answers := map[string]*peerpb.GetInfoResponse{}
	var answered sync.Mutex
	var all sync.WaitGroup
	for id := range addresses {
		all.Go(func() {
			info, err := k.query(ctx, id)
			if err != nil {
				return // the directory records the member as unreachable
			}
			answered.Lock()
			defer answered.Unlock()
			answers[id] = info
		})
	}
	all.Wait()
	k.outage.Store(new(k.peers.outage(k.Self(), time.Now())))
	return answers
}

func (k *Cluster) query(ctx context.Context, id string) (*peerpb.GetInfoResponse, error) {
	info, err := k.info(ctx, id)
	if err == nil {
		k.noteIncarnation(id, info)
	}
	moved, line := k.peers.note(id, info, err, time.Now())
	if moved {
		k.Changed()
	}
	if line != nil && id != k.Self() && k.ctx.Err() == nil {
		line.write(k.log, id, err)
	}
	return info, err
}

// note records a member's answer, or that the member did not answer. moved is true if the member's
// addresses for clients have changed. line is the line to log, or nil.
func (d *directory) note(id string, info *peerpb.GetInfoResponse, err error, now time.Time) (moved bool, line *presenceLine) {
	d.mu.Lock()
	defer d.mu.Unlock()
	m, member := d.members[id]
	if !member {
		return false, nil
	}
	before := m
	m.Reachable = err == nil
	line = d.presence[id].note(err, now)
	if err == nil {
		m.LastAnswer = now
		m.Address, m.HTTP, m.Admin, m.Version, m.ClockProblem = info.GetAddress(), info.GetHttp(), info.GetAdmin(), info.GetVersion(), info.GetClockProblem()
		m.Disk, m.DiskFree = DiskState(disk.SpaceState(info.GetDiskState())), info.GetDiskFreeBytes()
	}
	d.members[id] = m
	return m.Address != before.Address || m.HTTP != before.HTTP, line
}

func (k *Cluster) info(ctx context.Context, id string) (*peerpb.GetInfoResponse, error) {
	if id == k.Self() {
		return k.ownInfo()
	}
	c, err := k.conn(id)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, askMax)
	defer cancel()
	return peerpb.NewPeerServiceClient(c).GetInfo(ctx, &peerpb.GetInfoRequest{})
}

// join asks the configured nodes for membership, if this node must join. It returns true if this
// node is now a member or need not join.
func (k *Cluster) join(member bool) (joined bool) {
	wiped := k.identity.get().Wiped
	if len(k.config.Join) == 0 && !wiped || !k.isAdmitted() {
		return false
	}
	// Do not rely on member for a wiped node: its log may end before the entry that removed it.
	if member && !wiped {
		return true
	}
	for _, t := range k.targets() {
		err := k.joinAt(t)
		if err == nil && wiped { // from now on it is an ordinary member
			if err := k.identity.change(false, true); err != nil {
				k.host.Fail(err)
			}
		}
		if err == nil {
			break
		}
		if k.ctx.Err() == nil {
			k.log.Info("could not join the cluster; the node tries again", "at", t, "error", err)
		}
	}
	return false
}

func (k *Cluster) joinAt(t target) error {
	return k.callAt(t, changeMax, func(ctx context.Context, peer peerpb.PeerServiceClient) error {
		_, err := peer.Join(ctx, &peerpb.JoinRequest{Node: k.Self(), Address: k.mux.Addr()})
		return err
	})
}
