package fault

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"time"

	"github.com/pronybench/prony/engine/netproxy"
	"github.com/pronybench/prony/harness/scenario"
)

// Cluster is the cluster that Inject acts on. Nodes are identified by their IDs.
type Cluster interface {
	// Nodes returns the IDs of all nodes, always in the same order.
	Nodes() []string
	// Leader returns the ID of the node that leads shard 0. It returns "" if the shard has no
	// leader.
	Leader(ctx context.Context) (string, error)
	// Kill ends a node as in a crash, and returns when the node has ended.
	Kill(node string) error
	// Stop shuts a node down in order.
	Stop(ctx context.Context, node string) error
	// Start starts a node that has ended, with its existing data. It returns when the node is
	// listening.
	Start(ctx context.Context, node string) error
	// WaitReady waits until a node reports that it is ready.
	WaitReady(ctx context.Context, node string) error
	// Wipe removes the data of a node that has ended, so that the node starts as a new member.
	Wipe(node string) error
	// Pause stops a node until Resume is called.
	Pause(node string) error
	Resume(node string) error
	// Remove removes a node from the membership of the cluster. Add adds it again as a voting
	// member.
	Remove(ctx context.Context, node string) error
	Add(ctx context.Context, node string) error
}

// Links are the links between a cluster's nodes, such as a netproxy.Mesh.
type Links interface {
	Set(from, to string, c netproxy.Conditions)
}

// Event is one occurrence of a fault. Its times are relative to the window's start.
type Event struct {
	Kind   string
	Target string   // target as written in the scenario
	Nodes  []string // nodes that were affected
	Leader string   // leader of shard 0 when the fault began
	Began  time.Duration
	// when the nodes were down, paused or removed, or when the links were changed
	Done time.Duration
	// when the fault was undone; a node that was restarted is listening by then
	Healed time.Duration
}

const (
	// leaderTimeout bounds the wait for a leader.
	leaderTimeout = 10 * time.Second
	leaderPoll    = 20 * time.Millisecond
	// askTimeout bounds the time of one request for the leader. It is needed because a paused node
	// does not answer.
	askTimeout = 500 * time.Millisecond
)

// Plan defines the faults in a window, and when they occur.
type Plan struct {
	Faults []scenario.Fault
	Window time.Duration
	Began  time.Time // start of the window
}

// happening is one planned occurrence of a fault.
type happening struct {
	scenario.Fault
	number int // number of the occurrence of this fault, from 0
}

func (p *Plan) happenings() []happening {
	var all []happening
	for _, f := range p.Faults {
		for i := range f.Times {
			all = append(all, happening{f, i})
		}
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].begins() < all[j].begins() })
	return all
}

func (h happening) begins() time.Duration { return h.Begins(h.number) }

// Inject executes a plan and returns an event for each fault. It injects one fault after the other.
// If a fault is due before the nodes have recovered from the previous one, Inject waits until they
// have. If a fault fails or ctx is done, Inject resumes paused nodes and restores the links, but
// nodes that are down remain down. links may be nil if no fault changes links.
func Inject(ctx context.Context, p Plan, c Cluster, links Links) ([]Event, error) {
	var events []Event
	for i, h := range p.happenings() {
		if !sleepUntil(p.Began.Add(h.begins()), ctx.Done()) {
			return events, fmt.Errorf("fault %d: %w", i+1, ctx.Err())
		}
		if late := time.Since(p.Began) - h.begins(); h.begins()+late+h.For > p.Window {
			return events, fmt.Errorf("fault %d, %s of %s, does not fit into the window: the recovery from earlier faults took %v longer than planned",
				i+1, h.Kind, h.Target, late.Round(time.Millisecond))
		}
		e, err := inject(ctx, &p, h, c, links)
		if err != nil {
			return events, fmt.Errorf("fault %d, %s of %s: %w", i+1, h.Kind, h.Target, err)
		}
		events = append(events, *e)
	}
	return events, nil
}

func inject(ctx context.Context, p *Plan, h happening, c Cluster, links Links) (e *Event, err error) {
	nodes, leader, err := targets(ctx, h, c)
	if err != nil {
		return nil, err
	}
	e = &Event{Kind: h.Kind, Target: h.Target.String(), Nodes: nodes, Leader: leader, Began: time.Since(p.Began)}
	harm := harms(h.Fault, c, links)
	defer func() {
		if err != nil && harm.release != nil {
			err = errors.Join(err, each(nodes, func(node string) error { return harm.release(node) }))
		}
	}()
	if err := each(nodes, func(node string) error { return harm.do(ctx, node) }); err != nil {
		return e, err
	}
	e.Done = time.Since(p.Began)
	if !sleepUntil(p.Began.Add(e.Done+h.For), ctx.Done()) {
		return e, ctx.Err()
	}
	if err := each(nodes, func(node string) error { return harm.undo(ctx, node) }); err != nil {
		return e, err
	}
	e.Healed = time.Since(p.Began)
	return e, each(c.Nodes(), func(node string) error { return c.WaitReady(ctx, node) })
}

// targets returns the nodes that a fault affects, and the current leader.
func targets(ctx context.Context, h happening, c Cluster) (nodes []string, leader string, err error) {
	all := c.Nodes()
	switch h.Target.Kind {
	case scenario.TargetNode:
		nodes = []string{h.Target.Node}
	case scenario.TargetEach:
		nodes = []string{all[h.number%len(all)]}
	case scenario.TargetAll:
		nodes = all
	}
	if leader, err = awaitLeader(ctx, c); err != nil {
		return nil, "", err
	}
	switch h.Target.Kind {
	case scenario.TargetLeader:
		nodes = []string{leader}
	case scenario.TargetFollower:
		for _, node := range all {
			if node != leader {
				return []string{node}, leader, nil
			}
		}
	}
	if len(nodes) == 0 {
		return nil, leader, errors.New("no such node")
	}
	return nodes, leader, nil
}

func awaitLeader(ctx context.Context, c Cluster) (string, error) {
	limited, cancel := context.WithTimeout(ctx, leaderTimeout)
	defer cancel()
	ticker := time.NewTicker(leaderPoll)
	defer ticker.Stop()
	for {
		asking, done := context.WithTimeout(limited, askTimeout)
		leader, err := c.Leader(asking)
		done()
		if err == nil && leader != "" {
			return leader, nil
		}
		select {
		case <-ticker.C:
		case <-limited.Done():
			if ctx.Err() != nil {
				return "", ctx.Err()
			}
			return "", errors.Join(fmt.Errorf("shard 0 had no leader within %v", leaderTimeout), err)
		}
	}
}

func sleepUntil(at time.Time, done <-chan struct{}) bool {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-done:
		return false
	}
}
