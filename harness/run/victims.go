package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/pronybench/prony/harness/topology"
)

// victims is a cluster as the faults see it.
type victims struct{ cluster *topology.Cluster }

func (v victims) server(node string) (*topology.Server, error) {
	s, found := v.cluster.Server(node)
	if !found {
		return nil, fmt.Errorf("there is no node %q", node)
	}
	return s, nil
}

func (v victims) with(node string, do func(*topology.Server) error) error {
	s, err := v.server(node)
	if err != nil {
		return err
	}
	return do(s)
}

// Nodes returns the ids of all nodes.
func (v victims) Nodes() []string {
	var nodes []string
	for _, s := range v.cluster.Servers() {
		nodes = append(nodes, s.ID)
	}
	return nodes
}

// Leader returns the node that leads shard 0.
func (v victims) Leader(ctx context.Context) (string, error) {
	leaders, err := v.cluster.Leaders(ctx)
	if err != nil {
		return "", err
	}
	return leaders[0], nil
}

// Kill ends a node as a crash would.
func (v victims) Kill(node string) error { return v.with(node, (*topology.Server).Kill) }

// Stop ends a node in order.
func (v victims) Stop(ctx context.Context, node string) error {
	return v.with(node, func(s *topology.Server) error { return s.Stop(ctx) })
}

// Start starts a node on what it left.
func (v victims) Start(ctx context.Context, node string) error {
	return v.with(node, func(s *topology.Server) error { return s.Start(ctx) })
}

// WaitReady waits until a node is ready to serve.
func (v victims) WaitReady(ctx context.Context, node string) error {
	return v.with(node, func(s *topology.Server) error { return s.WaitReady(ctx) })
}

// Wipe removes what a node left.
func (v victims) Wipe(node string) error { return v.with(node, (*topology.Server).Wipe) }

// Pause has a node do nothing.
func (v victims) Pause(node string) error { return v.with(node, (*topology.Server).Pause) }

// Resume lets it go on.
func (v victims) Resume(node string) error { return v.with(node, (*topology.Server).Resume) }

// Remove makes a node no member any more.
func (v victims) Remove(ctx context.Context, node string) error {
	return v.change(ctx, node, "/v1/cluster:remove", map[string]any{"node": node})
}

// Add makes a node a member with a vote.
func (v victims) Add(ctx context.Context, node string) error {
	return v.with(node, func(s *topology.Server) error {
		return v.change(ctx, node, "/v1/cluster:add", map[string]any{"node": node, "address": s.PeerAddress})
	})
}

const (
	// changeTimeout bounds a change of the members, and all tries of it together.
	changeTimeout = 20 * time.Second
	changePause   = 100 * time.Millisecond
	// changeAnswerMax bounds what is read of an answer.
	changeAnswerMax = 4 << 10
)

// change asks the nodes other than the one that the change is about, one after the other, until one has made it. While
// the cluster looks for a leader none can.
func (v victims) change(ctx context.Context, about, path string, request any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	for {
		err := errors.New("no other node runs")
		for _, s := range v.cluster.Servers() {
			if s.ID == about || !s.Running() {
				continue
			}
			if _, err = admin(v.cluster, s).Do(limited, http.MethodPost, path, body, changeTimeout, changeAnswerMax); err == nil {
				return nil
			}
		}
		timer := time.NewTimer(changePause)
		select {
		case <-timer.C:
		case <-limited.Done():
			timer.Stop()
			return err
		}
	}
}
