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

// Cluster is the target of an injector. Nodes are identified by their IDs.
type Cluster interface {
	// Nodes returns the IDs of all nodes in order.
	Nodes() []string
	// Leader returns the leader of shard 0; "" if it has none.
	Leader(ctx context.Context) (string, error)
	// Kill ends a node like a crash, and returns when it has ended.
	Kill(node string) error
	// Stop ends a node in order.
	Stop(ctx context.Context, node string) error
	// Start starts an ended node on its data, and returns when it listens.
	Start(ctx context.Context, node string) error
	// WaitReady waits until a node reports that it is ready.
	WaitReady(ctx context.Context, node string) error
	// Wipe removes the data of an ended node, so that it starts as a new member.
	Wipe(node string) error
	// Pause stops a node until Resume.
	Pause(node string) error
	Resume(node string) error
	// Remove removes a node from the cluster; Add adds it again with a vote.
	Remove(ctx context.Context, node string) error
	Add(ctx context.Context, node string) error
}

// Links are the links between a cluster's nodes, such as a netproxy.Mesh.
type Links interface {
	Set(from, to string, c netproxy.Conditions)
}

// Event is one occurrence of a fault. Its times count from the window's start.
type Event struct {
	Kind   string
	Target string   // as written in the scenario
	Nodes  []string // affected nodes
	Leader string   // of shard 0 at the begin
	Began  time.Duration
	Done   time.Duration // when the nodes were down, paused or removed, or the links changed
	Healed time.Duration // when the fault was undone; a restarted node listens by then
}

const (
	// leaderTimeout bounds the wait for a leader.
	leaderTimeout = 10 * time.Second
	leaderPoll    = 20 * time.Millisecond
	// askTimeout bounds one query for the leader, because a paused node does not answer.
	askTimeout = 500 * time.Millisecond
)

// Plan defines the faults of a window and their times.
type Plan struct {
	Faults []scenario.Fault
	Window time.Duration
	Began  time.Time // the window's start
}

// happening is one planned occurrence of a fault.
type happening struct {
	scenario.Fault
	number int // number of the occurrence, from 0
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

// Inject executes a plan, one fault after the other, and returns an event for each. A fault that is
// due before the nodes have recovered from the last one waits for them. If a fault fails or ctx is
// done, Inject resumes paused nodes and restores the links; nodes that are down remain down. links
// may be nil if no fault changes links.
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

// targets returns the nodes that a fault affects, and the leader.
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

// sleepUntil waits until a time. It returns false if done is closed first.
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
