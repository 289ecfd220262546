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

// faultTargets adapts a cluster to fault.Cluster, so that faults can be injected into its nodes.
type faultTargets struct{ cluster *topology.Cluster }

func (t faultTargets) server(node string) (*topology.Server, error) {
	s, found := t.cluster.Server(node)
	if !found {
		return nil, fmt.Errorf("there is no node %q", node)
	}
	return s, nil
}

func (t faultTargets) with(node string, do func(*topology.Server) error) error {
	s, err := t.server(node)
	if err != nil {
		return err
	}
	return do(s)
}

// Nodes returns the ids of all nodes.
func (t faultTargets) Nodes() []string {
	var nodes []string
	for _, s := range t.cluster.Servers() {
		nodes = append(nodes, s.ID)
	}
	return nodes
}

// Leader returns the leader of shard 0.
func (t faultTargets) Leader(ctx context.Context) (string, error) {
	leaders, err := t.cluster.Leaders(ctx)
	if err != nil {
		return "", err
	}
	return leaders[0], nil
}

// Kill ends a node with SIGKILL.
func (t faultTargets) Kill(node string) error { return t.with(node, (*topology.Server).Kill) }

// Stop ends a node with SIGTERM.
func (t faultTargets) Stop(ctx context.Context, node string) error {
	return t.with(node, func(s *topology.Server) error { return s.Stop(ctx) })
}

// Start starts a node with its existing data.
func (t faultTargets) Start(ctx context.Context, node string) error {
	return t.with(node, func(s *topology.Server) error { return s.Start(ctx) })
}

// WaitReady waits until a node is ready to serve.
func (t faultTargets) WaitReady(ctx context.Context, node string) error {
	return t.with(node, func(s *topology.Server) error { return s.WaitReady(ctx) })
}

// Wipe removes the data of a stopped node.
func (t faultTargets) Wipe(node string) error { return t.with(node, (*topology.Server).Wipe) }

// Pause stops all threads of a node until Resume.
func (t faultTargets) Pause(node string) error { return t.with(node, (*topology.Server).Pause) }

// Resume continues a paused node.
func (t faultTargets) Resume(node string) error { return t.with(node, (*topology.Server).Resume) }

// Remove removes a node from the membership of the cluster.
func (t faultTargets) Remove(ctx context.Context, node string) error {
	return t.change(ctx, node, "/v1/cluster:remove", map[string]any{"node": node})
}

// Add adds a node to the membership of the cluster as a voting member.
func (t faultTargets) Add(ctx context.Context, node string) error {
	return t.with(node, func(s *topology.Server) error {
		return t.change(ctx, node, "/v1/cluster:add", map[string]any{"node": node, "address": s.PeerAddress})
	})
}

const (
	// changeTimeout bounds the time of a membership change, including all retries.
	changeTimeout = 20 * time.Second
	changePause   = 100 * time.Millisecond
	// changeAnswerMax bounds the number of bytes read from an answer.
	changeAnswerMax = 4 << 10
)

// change sends a membership change to the nodes, one after the other, until a node executes it. It
// skips the node that the change affects. No node can execute the change while the cluster elects a
// leader.
func (t faultTargets) change(ctx context.Context, about, path string, request any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	for {
		err := errors.New("no other node runs")
		for _, s := range t.cluster.Servers() {
			if s.ID == about || !s.Running() {
				continue
			}
			if _, err = admin(t.cluster, s).Do(limited, http.MethodPost, path, body, changeTimeout, changeAnswerMax); err == nil {
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
