package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/peerpb"
	"github.com/pronybench/prony/engine/replica/peer"
)

// If a voter has a new data folder, the entries that it acknowledged are lost. It must not vote,
// because its vote could elect a leader without these entries. A node with a new data folder may
// take part only after the other nodes have reported that they do not know the node, or after they
// have removed it.

const (
	// welcomeMin is the time that a node with a new data folder waits for unreachable nodes.
	welcomeMin = 250 * time.Millisecond
	// welcomeMax is the time that such a node waits for a node that accepts connections but does
	// not answer. The other node may be recovering its stores.
	welcomeMax = time.Minute
	// readmitMax limits the time of one attempt to be removed. The pause between two attempts grows
	// from readmitPause to readmitPauseMax.
	readmitMax      = 3 * time.Second
	readmitPause    = 200 * time.Millisecond
	readmitPauseMax = 2 * time.Second
	// readmitLogEvery is the minimum interval between two log lines about failed attempts.
	readmitLogEvery = 10 * time.Second
)

// target is a node that the configuration names, either by its ID or only by its address.
type target struct{ node, address string }

func (t target) String() string {
	if t.node != "" {
		return t.node
	}
	return t.address
}

// admission makes this node a member that takes part in the cluster. It asks the nodes that the
// configuration names.
type admission struct {
	config   *Config
	groups   *groups
	mux      *peer.Mux
	identity *identity
	host     Host
	log      *slog.Logger
	ctx      context.Context // ends when this node stops
	admitted chan struct{}   // closed once this node may take part
}

func newAdmission(k *Cluster, identity *identity) *admission {
	a := &admission{
		config: &k.config.Config, groups: k.groups, mux: k.mux, identity: identity, host: k.config.Host, log: k.log, ctx: k.background.ctx, admitted: make(chan struct{}),
	}
	if a.identity.get().Admitted {
		close(a.admitted)
	}
	return a
}

// targets returns all nodes that the configuration names, except this node.
func (a *admission) targets() (out []target) {
	for _, address := range a.config.Join {
		out = append(out, target{address: address})
	}
	for node := range a.config.Peers {
		if node != a.groups.node {
			out = append(out, target{node: node})
		}
	}
	return out
}

// connTo returns a connection to a node that need not be a member. It calls connected after each
// successful dial.
func (a *admission) connTo(t target, connected func()) (*grpc.ClientConn, error) {
	return newConn(func(ctx context.Context) (net.Conn, error) {
		c, err := a.mux.DialCalls(ctx, t.node, t.address)
		if err == nil {
			connected()
		}
		return c, err
	})
}

func (a *admission) isAdmitted() bool {
	select {
	case <-a.admitted:
		return true
	default:
		return false
	}
}

// missing returns the reason why this node does not take part yet, or "".
func (a *admission) missing() string {
	switch {
	case a.isAdmitted():
		return ""
	case a.identity.get().Wiped:
		return "its data folder is new: the other nodes must remove it before it can join again"
	default:
		return "waiting for the other nodes to report whether they know this one"
	}
}

func (a *admission) run() {
	if err := a.seek(); err != nil && a.ctx.Err() == nil {
		a.host.Fail(fmt.Errorf("begin to take part in the cluster: %w", err))
	}
}

func (a *admission) seek() error {
	if !a.identity.get().Wiped {
		wiped, err := a.knownWithAnotherFolder()
		if err != nil {
			return err
		}
		if !wiped {
			return a.begin()
		}
		if err := a.identity.change(true, false); err != nil {
			return err
		}
	}
	a.log.Warn("the other nodes know this one with another data folder: this node waits until they have removed it, and then joins again", "node", a.groups.node)
	if err := a.awaitRemoval(); err != nil {
		return err
	}
	if err := a.identity.change(true, true); err != nil {
		return err
	}
	a.log.Info("this node was removed and joins again", "node", a.groups.node)
	close(a.admitted)
	return nil
}

// begin lets this node take part in the cluster. It is called when no other node that answered
// knows this node with another data folder.
func (a *admission) begin() error {
	// Store this first, because from now on this node may acknowledge entries.
	if err := a.identity.change(false, true); err != nil {
		return err
	}
	for _, r := range a.groups.replicas {
		if err := r.Bootstrap(); err != nil {
			return err
		}
	}
	close(a.admitted)
	if len(a.config.Join) > 0 {
		return nil // one of the first members has already answered
	}
	return a.awaitLateAnswers()
}

// awaitLateAnswers asks all first members again, and returns when all have answered. If one of them
// knows this node with another data folder, this node must not continue to vote. awaitLateAnswers
// then returns an error, which ends the node. At its next start, the node joins again.
func (a *admission) awaitLateAnswers() error {
	ctx, cancel := context.WithCancel(a.ctx)
	defer cancel()
	var asking sync.WaitGroup
	var known atomic.Bool
	for _, t := range a.targets() {
		asking.Go(func() {
			if standing, err := a.askStanding(ctx, t, func() {}); err == nil && standing == peerpb.Standing_STANDING_KNOWN_OTHER {
				known.Store(true)
				cancel()
			}
		})
	}
	asking.Wait()
	if !known.Load() {
		return nil
	}
	if err := a.identity.change(true, false); err != nil {
		return err
	}
	return errors.New("a node that was unreachable when this node started knows this node with another data folder: restart this node, so that it is removed and joins again")
}

// knownWithAnotherFolder asks the other nodes whether they know this node with another data folder.
// It waits for unreachable nodes only if this node must join them and none of them has answered.
func (a *admission) knownWithAnotherFolder() (bool, error) {
	ctx, cancel := context.WithCancel(a.ctx)
	var asking sync.WaitGroup
	defer asking.Wait()
	defer cancel()
	targets := a.targets()
	answers := make(chan peerpb.Standing, len(targets))
	there := make([]atomic.Bool, len(targets))
	for i, t := range targets {
		asking.Go(func() {
			standing, err := a.askStanding(ctx, t, func() { there[i].Store(true) })
			if err != nil && ctx.Err() == nil {
				a.log.Warn("could not ask a node whether it knows this one", "at", t, "error", err)
			}
			answers <- standing
		})
	}
	began := time.Now()
	tick := time.NewTicker(welcomeMin)
	defer tick.Stop()
	answered, unknown := 0, 0
	for answered < len(targets) {
		select {
		case <-a.ctx.Done():
			return false, a.ctx.Err()
		case standing := <-answers:
			answered++
			if standing == peerpb.Standing_STANDING_KNOWN_OTHER {
				return true, nil
			}
			if standing == peerpb.Standing_STANDING_UNKNOWN {
				unknown++
			}
		case <-tick.C:
			present := 0
			for i := range there {
				if there[i].Load() {
					present++
				}
			}
			if a.enough(answered, unknown, present, time.Since(began)) {
				return false, nil
			}
		}
	}
	return false, nil
}

// enough reports whether a node with a new data folder need not wait for further answers. answered
// nodes have answered, and unknown of them do not know this node. present nodes accept connections.
func (a *admission) enough(answered, unknown, present int, waited time.Duration) bool {
	joins := len(a.config.Join) > 0
	return (unknown > 0 || !joins) && (present <= answered || waited > welcomeMax)
}

// askStanding asks a node whether it knows this node. It waits until that node answers or ctx ends.
func (a *admission) askStanding(ctx context.Context, t target, connected func()) (_ peerpb.Standing, err error) {
	c, err := a.connTo(t, connected)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	out, err := peerpb.NewPeerServiceClient(c).Welcome(ctx, &peerpb.WelcomeRequest{Node: a.groups.node, Incarnation: a.identity.get().Incarnation}, grpc.WaitForReady(true))
	return out.GetStanding(), err
}

func (a *admission) awaitRemoval() error {
	pause := readmitPause
	var logged time.Time
	for {
		err := error(nil)
		for _, t := range a.targets() {
			if err = a.requestRemoval(t); err == nil {
				return nil
			}
			err = fmt.Errorf("%s: %s", t, status.Convert(err).Message())
		}
		if a.ctx.Err() != nil {
			return a.ctx.Err()
		}
		if time.Since(logged) > readmitLogEvery {
			logged = time.Now()
			a.log.Warn("this node's data folder is new, and the cluster could not remove the node so that it can join again: a majority of the members must run with their previous data folders; "+
				"start those that are down. The node tries again", "node", a.groups.node, "error", err)
		}
		select {
		case <-a.ctx.Done():
			return a.ctx.Err()
		case <-time.After(pause):
		}
		pause = min(2*pause, readmitPauseMax)
	}
}

func (a *admission) requestRemoval(t target) error {
	return a.callAt(t, readmitMax, func(ctx context.Context, to peerpb.PeerServiceClient) error {
		_, err := to.Readmit(ctx, &peerpb.ReadmitRequest{Node: a.groups.node, Incarnation: a.identity.get().Incarnation})
		return err
	})
}

func (a *admission) callAt(t target, timeout time.Duration, call func(context.Context, peerpb.PeerServiceClient) error) (err error) {
	c, err := a.connTo(t, func() {})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	ctx, cancel := context.WithTimeout(a.ctx, timeout)
	defer cancel()
	return call(ctx, peerpb.NewPeerServiceClient(c))
}
