package cluster

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/pronybench/prony/engine/peerpb"
	"github.com/pronybench/prony/engine/replica/peer"
	"github.com/pronybench/prony/engine/rpc/route"
)

const (
	// askEvery is how often a node queries the state and the listeners of the other
	// nodes.
	askEvery = time.Second
	askMax   = time.Second
	// redialMax is the maximum pause before a node dials another node again.
	redialMax = 500 * time.Millisecond
)

// peers queries the members of the cluster, stores their answers in the directory, and makes calls
// to them. Its methods are safe for concurrent use.
type peers struct {
	directory

	groups   *groups
	mux      *peer.Mux
	changes  *route.Changes
	identity *identity
	host     Host
	ownInfo  func() (*peerpb.GetInfoResponse, error)
	log      *slog.Logger
	ctx      context.Context // ends when this node stops

	updating   sync.Mutex // held while the directory copies the members of the groups
	lastOutage atomic.Pointer[string]
}

// Conn implements route.Cluster.
func (p *peers) Conn(node string) (grpc.ClientConnInterface, error) { return p.conn(node) }

func (p *peers) conn(node string) (*grpc.ClientConn, error) {
	d := &p.directory
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
	c, err := newConn(func(ctx context.Context) (net.Conn, error) { return p.mux.DialCalls(ctx, node, "") })
	if err != nil {
		return nil, fmt.Errorf("connect to node %q: %w", node, err)
	}
	d.conns[node] = c
	return c, nil
}

// newConn returns a connection for calls. The connections that dial returns must already be
// authenticated and encrypted.
func newConn(dial func(context.Context) (net.Conn, error)) (*grpc.ClientConn, error) {
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

func (p *peers) updateMembers() map[string]string {
	p.updating.Lock() // prevents an older list of members from overwriting a newer one
	defer p.updating.Unlock()
	addresses, voters := p.groups.currentMembers()
	p.mux.SetMembers(addresses)
	p.logMembers(p.update(addresses, voters, time.Now()))
	return addresses
}

// queryPeers asks the members of all groups for their state, and returns their answers by ID.
func (p *peers) queryPeers(ctx context.Context) map[string]*peerpb.GetInfoResponse {
	addresses := p.updateMembers()
	answers := map[string]*peerpb.GetInfoResponse{}
	var answered sync.Mutex
	var all sync.WaitGroup
	for id := range addresses {
		all.Go(func() {
			info, err := p.query(ctx, id)
			if err != nil {
				return // the directory records the member as unreachable
			}
			answered.Lock()
			defer answered.Unlock()
			answers[id] = info
		})
	}
	all.Wait()
	p.lastOutage.Store(new(p.outage(p.groups.node, time.Now())))
	return answers
}

func (p *peers) query(ctx context.Context, id string) (*peerpb.GetInfoResponse, error) {
	info, err := p.info(ctx, id)
	if err == nil {
		p.noteIncarnation(id, info)
	}
	moved, line := p.note(id, info, err, time.Now())
	if moved {
		p.changes.Changed()
	}
	if line != nil && id != p.groups.node && p.ctx.Err() == nil {
		line.write(p.log, id, err)
	}
	return info, err
}

func (p *peers) info(ctx context.Context, id string) (*peerpb.GetInfoResponse, error) {
	if id == p.groups.node {
		return p.ownInfo()
	}
	c, err := p.conn(id)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, askMax)
	defer cancel()
	return peerpb.NewPeerServiceClient(c).GetInfo(ctx, &peerpb.GetInfoRequest{})
}

// noteIncarnation stores a member's incarnation, which identifies the member's data folder. It does
// so once the member has applied committed entries.
func (p *peers) noteIncarnation(node string, info *peerpb.GetInfoResponse) {
	applied := slices.ContainsFunc(info.GetGroups(), func(g *peerpb.Group) bool { return g.GetAppliedIndex() > 0 })
	if node == p.groups.node || info.GetIncarnation() == "" || !applied {
		return
	}
	err := p.identity.note(node, info.GetIncarnation(), func(node string) bool {
		_, member := p.Member(node)
		return member
	})
	if err != nil {
		p.host.Fail(err)
	}
}
