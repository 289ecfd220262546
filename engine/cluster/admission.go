package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/peerpb"
)

// A voter whose data folder is another one than before has forgotten what it acknowledged, and must not vote: it could help
// one to lead who lacks it. So a node with a new data folder takes part only once the others were asked whether they know it.

const (
	// welcomeMin is how long a node with a new data folder waits for others that are not there.
	welcomeMin = 250 * time.Millisecond
	// welcomeMax is how long it waits for one that is there and does not answer: that one may be recovering what it holds.
	welcomeMax = time.Minute
	// readmitMax bounds one try to be removed, readmitPause is between two.
	readmitMax      = 3 * time.Second
	readmitPause    = 200 * time.Millisecond
	readmitPauseMax = 2 * time.Second
	// readmitTellEvery is how often the log says that it is still tried.
	readmitTellEvery = 10 * time.Second
)

// target is a node to be asked: by its id, or by its address alone.
type target struct{ node, address string }

func (t target) String() string {
	if t.node != "" {
		return t.node
	}
	return t.address
}

// targets are the nodes that the configuration names, but for this one.
func (k *Cluster) targets() (out []target) {
	for _, address := range k.config.Join {
		out = append(out, target{address: address})
	}
	for node := range k.config.Peers {
		if node != k.Self() {
			out = append(out, target{node: node})
		}
	}
	return out
}

// connTo connects to a node that may be no member yet. connected is called for each connection that is made.
func (k *Cluster) connTo(t target, connected func()) (*grpc.ClientConn, error) {
	return k.newConn(func(ctx context.Context) (net.Conn, error) {
		c, err := k.mux.DialCalls(ctx, t.node, t.address)
		if err == nil {
			connected()
		}
		return c, err
	})
}

// isAdmitted tells whether this node takes part.
func (k *Cluster) isAdmitted() bool {
	select {
	case <-k.admitted:
		return true
	default:
		return false
	}
}

// admit has this node take part when that harms nobody.
func (k *Cluster) admit() {
	if err := k.seekAdmission(); err != nil && k.ctx.Err() == nil {
		k.host.Fail(fmt.Errorf("begin to take part in the cluster: %w", err))
	}
}

func (k *Cluster) seekAdmission() error {
	if !k.identity.get().Wiped {
		wiped, err := k.knownOtherwise()
		if err != nil {
			return err
		}
		if !wiped {
			return k.begin()
		}
		if err := k.identity.change(true, false); err != nil {
			return err
		}
	}
	k.log.Warn("the other nodes know this one with another data folder: it takes no part until they have removed it, and then joins again", "node", k.Self())
	if err := k.beReadmitted(); err != nil {
		return err
	}
	if err := k.identity.change(true, true); err != nil {
		return err
	}
	k.log.Info("this node was removed, and joins again", "node", k.Self())
	close(k.admitted)
	return nil
}

// begin has a node take part that nobody knows otherwise.
func (k *Cluster) begin() error {
	if err := k.identity.change(false, true); err != nil { // first: from here on it may acknowledge
		return err
	}
	for _, r := range k.replicas {
		if err := r.Bootstrap(); err != nil {
			return err
		}
	}
	close(k.admitted)
	if len(k.config.Join) > 0 {
		return nil // one of them has answered
	}
	return k.heedTheLate()
}

// heedTheLate asks the first members that did not answer in time, when they come: one that knows this node with another data
// folder must not be helped to lead. It returns when all have answered.
func (k *Cluster) heedTheLate() error {
	ctx, cancel := context.WithCancel(k.ctx)
	defer cancel()
	var asking sync.WaitGroup
	var known atomic.Bool
	for _, t := range k.targets() {
		asking.Go(func() {
			if standing, err := k.standingAt(ctx, t, func() {}); err == nil && standing == peerpb.Standing_STANDING_KNOWN_OTHER {
				known.Store(true)
				cancel()
			}
		})
	}
	asking.Wait()
	if !known.Load() {
		return nil
	}
	if err := k.identity.change(true, false); err != nil {
		return err
	}
	return errors.New("another node, which was not there when this one was started, knows it with another data folder: start it again, and it is removed and joins again")
}

// knownOtherwise asks the others whether they know this node with another data folder. Those that are not there are not
// waited for, unless this node is to join them.
func (k *Cluster) knownOtherwise() (bool, error) {
	ctx, cancel := context.WithCancel(k.ctx)
	var asking sync.WaitGroup
	defer asking.Wait()
	defer cancel()
	targets := k.targets()
	answers := make(chan peerpb.Standing, len(targets))
	there := make([]atomic.Bool, len(targets))
	for i, t := range targets {
		asking.Go(func() {
			standing, err := k.standingAt(ctx, t, func() { there[i].Store(true) })
			if err != nil && ctx.Err() == nil {
				k.log.Warn("a node does not say whether it knows this one", "at", t, "error", err)
			}
			answers <- standing
		})
	}
	began := time.Now()
	tick := time.NewTicker(welcomeMin)
	defer tick.Stop()
	answered, knowing := 0, 0
	for answered < len(targets) {
		select {
		case <-k.ctx.Done():
			return false, k.ctx.Err()
		case standing := <-answers:
			answered++
			if standing == peerpb.Standing_STANDING_KNOWN_OTHER {
				return true, nil
			}
			if standing == peerpb.Standing_STANDING_UNKNOWN {
				knowing++
			}
		case <-tick.C:
			present := 0
			for i := range there {
				if there[i].Load() {
					present++
				}
			}
			joins := len(k.config.Join) > 0
			if (knowing > 0 || !joins) && (present <= answered || time.Since(began) > welcomeMax) {
				return false, nil
			}
		}
	}
	return false, nil
}

// standingAt asks one node, until it answers or ctx ends.
func (k *Cluster) standingAt(ctx context.Context, t target, connected func()) (_ peerpb.Standing, err error) {
	c, err := k.connTo(t, connected)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	out, err := peerpb.NewPeerServiceClient(c).Welcome(ctx, &peerpb.WelcomeRequest{Node: k.Self(), Incarnation: k.identity.get().Incarnation}, grpc.WaitForReady(true))
	return out.GetStanding(), err
}

// beReadmitted has the others remove this node, until they have or the node stops.
func (k *Cluster) beReadmitted() error {
	pause := readmitPause
	var told time.Time
	for {
		err := error(nil)
		for _, t := range k.targets() {
			if err = k.readmitAt(t); err == nil {
				return nil
			}
			err = fmt.Errorf("%s: %s", t, status.Convert(err).Message())
		}
		if k.ctx.Err() != nil {
			return k.ctx.Err()
		}
		if time.Since(told) > readmitTellEvery {
			told = time.Now()
			k.log.Warn("this node's data folder is new, and it can't be removed from the cluster to join again: most of the members must run with the data folders that they had; "+
				"start those that are down. It is tried again", "node", k.Self(), "error", err)
		}
		select {
		case <-k.ctx.Done():
			return k.ctx.Err()
		case <-time.After(pause):
		}
		pause = min(2*pause, readmitPauseMax)
	}
}

func (k *Cluster) readmitAt(t target) (err error) {
	c, err := k.connTo(t, func() {})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	ctx, cancel := context.WithTimeout(k.ctx, readmitMax)
	defer cancel()
	_, err = peerpb.NewPeerServiceClient(c).Readmit(ctx, &peerpb.ReadmitRequest{Node: k.Self(), Incarnation: k.identity.get().Incarnation})
	return err
}

// standing is what this node knows of another one.
func (k *Cluster) standing(node, incarnation string) peerpb.Standing {
	if seen := k.identity.seen(node); seen != "" && seen != incarnation {
		return peerpb.Standing_STANDING_KNOWN_OTHER
	}
	return peerpb.Standing_STANDING_UNKNOWN
}

// readmit has a node removed that has a new data folder. That one does not take part until this succeeded.
func (k *Cluster) readmit(ctx context.Context, node, incarnation string) error {
	ctx, cancel := context.WithTimeout(ctx, readmitMax)
	defer cancel()
	if !k.isAdmitted() {
		return errors.New("it takes no part in the cluster itself")
	}
	if node == k.Self() || k.identity.seen(node) == incarnation { // it takes part already
		return fmt.Errorf("node %q has no new data folder", node)
	}
	// Not as an operator's change: the leaders know best whether it is a member, and one that it is not is removed in vain.
	return k.inAllGroups(ctx, peerpb.GroupChange_GROUP_CHANGE_REMOVE, node, "")
}

// noteIncarnation keeps that a member with that data folder has applied what was committed.
func (k *Cluster) noteIncarnation(node string, info *peerpb.GetInfoResponse) {
	applied := slices.ContainsFunc(info.GetGroups(), func(g *peerpb.Group) bool { return g.GetAppliedIndex() > 0 })
	if node == k.Self() || info.GetIncarnation() == "" || !applied {
		return
	}
	err := k.identity.note(node, info.GetIncarnation(), func(node string) bool {
		_, member := k.peers.member(node)
		return member
	})
	if err != nil {
		k.host.Fail(err)
	}
}

// admittedLayer is the stream layer of a group, which carries nothing before this node may take part: others that try are
// refused.
type admittedLayer struct {
	cluster *Cluster
	group   uint16

	mu     sync.Mutex
	closed bool
	stop   chan struct{}
}

var _ raft.StreamLayer = (*admittedLayer)(nil)

func newAdmittedLayer(k *Cluster, group uint16) *admittedLayer {
	return &admittedLayer{cluster: k, group: group, stop: make(chan struct{})}
}

// under returns the layer below. It is made by the first call.
func (l *admittedLayer) under() (raft.StreamLayer, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, net.ErrClosed
	}
	return l.cluster.mux.Group(l.group), nil
}

// Accept implements net.Listener.
func (l *admittedLayer) Accept() (net.Conn, error) {
	select {
	case <-l.stop:
		return nil, net.ErrClosed
	case <-l.cluster.admitted:
	}
	under, err := l.under()
	if err != nil {
		return nil, err
	}
	return under.Accept()
}

// Dial implements raft.StreamLayer.
func (l *admittedLayer) Dial(address raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	if !l.cluster.isAdmitted() {
		return nil, errors.New("this node takes no part in the cluster yet")
	}
	under, err := l.under()
	if err != nil {
		return nil, err
	}
	return under.Dial(address, timeout)
}

// Close implements net.Listener.
func (l *admittedLayer) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	close(l.stop)
	return l.cluster.mux.Group(l.group).Close()
}

// Addr implements net.Listener.
func (l *admittedLayer) Addr() net.Addr { return peerAddr(l.cluster.mux.Addr()) }

type peerAddr string

func (a peerAddr) Network() string { return "tcp" }
func (a peerAddr) String() string  { return string(a) }
