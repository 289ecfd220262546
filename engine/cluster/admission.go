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

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/peerpb"
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

// targets returns all nodes that the configuration names, except this node.
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

// connTo returns a connection to a node that need not be a member. It calls connected after each
// successful dial.
func (k *Cluster) connTo(t target, connected func()) (*grpc.ClientConn, error) {
	return k.newConn(func(ctx context.Context) (net.Conn, error) {
		c, err := k.mux.DialCalls(ctx, t.node, t.address)
		if err == nil {
			connected()
		}
		return c, err
	})
}

func (k *Cluster) isAdmitted() bool {
	select {
	case <-k.admitted:
		return true
	default:
		return false
	}
}

func (k *Cluster) admit() {
	if err := k.seekAdmission(); err != nil && k.ctx.Err() == nil {
		k.host.Fail(fmt.Errorf("begin to take part in the cluster: %w", err))
	}
}

func (k *Cluster) seekAdmission() error {
	if !k.identity.get().Wiped {
		wiped, err := k.knownWithAnotherFolder()
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
	k.log.Warn("the other nodes know this one with another data folder: this node waits until they have removed it, and then joins again", "node", k.Self())
	if err := k.awaitRemoval(); err != nil {
		return err
	}
	if err := k.identity.change(true, true); err != nil {
		return err
	}
	k.log.Info("this node was removed and joins again", "node", k.Self())
	close(k.admitted)
	return nil
}

// begin lets this node take part in the cluster. It is called when no other node that answered
// knows this node with another data folder.
func (k *Cluster) begin() error {
	// Store this first, because from now on this node may acknowledge entries.
	if err := k.identity.change(false, true); err != nil {
		return err
	}
	for _, r := range k.replicas {
		if err := r.Bootstrap(); err != nil {
			return err
		}
	}
	close(k.admitted)
	if len(k.config.Join) > 0 {
		return nil // one of the first members has already answered
	}
	return k.awaitLateAnswers()
}

// awaitLateAnswers asks all first members again, and returns when all have answered. If one of them
// knows this node with another data folder, this node must not continue to vote. awaitLateAnswers
// then returns an error, which ends the node. At its next start, the node joins again.
func (k *Cluster) awaitLateAnswers() error {
	ctx, cancel := context.WithCancel(k.ctx)
	defer cancel()
	var asking sync.WaitGroup
	var known atomic.Bool
	for _, t := range k.targets() {
		asking.Go(func() {
			if standing, err := k.askStanding(ctx, t, func() {}); err == nil && standing == peerpb.Standing_STANDING_KNOWN_OTHER {
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
	return errors.New("a node that was unreachable when this node started knows this node with another data folder: restart this node, so that it is removed and joins again")
}

// knownWithAnotherFolder asks the other nodes whether they know this node with another data folder.
// It waits for unreachable nodes only if this node must join them and none of them has answered.
func (k *Cluster) knownWithAnotherFolder() (bool, error) {
	ctx, cancel := context.WithCancel(k.ctx)
	var asking sync.WaitGroup
	defer asking.Wait()
	defer cancel()
	targets := k.targets()
	answers := make(chan peerpb.Standing, len(targets))
	there := make([]atomic.Bool, len(targets))
	for i, t := range targets {
		asking.Go(func() {
			standing, err := k.askStanding(ctx, t, func() { there[i].Store(true) })
			if err != nil && ctx.Err() == nil {
				k.log.Warn("could not ask a node whether it knows this one", "at", t, "error", err)
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

// askStanding asks a node whether it knows this node. It waits until that node answers or ctx ends.
func (k *Cluster) askStanding(ctx context.Context, t target, connected func()) (_ peerpb.Standing, err error) {
	c, err := k.connTo(t, connected)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	out, err := peerpb.NewPeerServiceClient(c).Welcome(ctx, &peerpb.WelcomeRequest{Node: k.Self(), Incarnation: k.identity.get().Incarnation}, grpc.WaitForReady(true))
	return out.GetStanding(), err
}

func (k *Cluster) awaitRemoval() error {
	pause := readmitPause
	var logged time.Time
	for {
		err := error(nil)
		for _, t := range k.targets() {
			if err = k.requestRemoval(t); err == nil {
				return nil
			}
			err = fmt.Errorf("%s: %s", t, status.Convert(err).Message())
		}
		if k.ctx.Err() != nil {
			return k.ctx.Err()
		}
		if time.Since(logged) > readmitLogEvery {
			logged = time.Now()
			k.log.Warn("this node's data folder is new, and the cluster could not remove the node so that it can join again: a majority of the members must run with their previous data folders; "+
				"start those that are down. The node tries again", "node", k.Self(), "error", err)
		}
		select {
		case <-k.ctx.Done():
			return k.ctx.Err()
		case <-time.After(pause):
		}
		pause = min(2*pause, readmitPauseMax)
	}
}

func (k *Cluster) requestRemoval(t target) error {
	return k.callAt(t, readmitMax, func(ctx context.Context, peer peerpb.PeerServiceClient) error {
		_, err := peer.Readmit(ctx, &peerpb.ReadmitRequest{Node: k.Self(), Incarnation: k.identity.get().Incarnation})
		return err
	})
}

func (k *Cluster) callAt(t target, timeout time.Duration, call func(context.Context, peerpb.PeerServiceClient) error) (err error) {
	c, err := k.connTo(t, func() {})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	ctx, cancel := context.WithTimeout(k.ctx, timeout)
	defer cancel()
	return call(ctx, peerpb.NewPeerServiceClient(c))
}

// standing returns whether this node knows the given node with another data folder. incarnation
// identifies the node's current data folder.
func (k *Cluster) standing(node, incarnation string) peerpb.Standing {
	if seen := k.identity.seen(node); seen != "" && seen != incarnation {
		return peerpb.Standing_STANDING_KNOWN_OTHER
	}
	return peerpb.Standing_STANDING_UNKNOWN
}

// readmit removes a node with a new data folder from all groups, at that node's request. The node
// does not take part in the cluster before this has succeeded.
func (k *Cluster) readmit(ctx context.Context, node, incarnation string) error {
	ctx, cancel := context.WithTimeout(ctx, readmitMax)
	defer cancel()
	if !k.isAdmitted() {
		return errors.New("this node does not take part in the cluster either")
	}
	if node == k.Self() || k.identity.seen(node) == incarnation { // that node already takes part
		return fmt.Errorf("node %q has no new data folder", node)
	}
	// Do not use Change: the groups' leaders know best whether the node is a member, and removing a
	// node that is not a member has no effect.
	if err := k.inAllGroups(ctx, peerpb.GroupChange_GROUP_CHANGE_REMOVE, node, ""); err != nil {
		return err
	}
	k.log.Info("removed a node with a new data folder at its request", "peer", node)
	return nil
}

// noteIncarnation stores a member's incarnation, which identifies the member's data folder. It does
// so once the member has applied committed entries.
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
