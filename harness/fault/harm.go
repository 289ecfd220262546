package fault

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/pronybench/prony/engine/netproxy"
	"github.com/pronybench/prony/harness/scenario"
)

// harm contains functions that apply a fault to a node, and undo it.
type harm struct {
	do   func(ctx context.Context, node string) error
	undo func(ctx context.Context, node string) error
	// release is called after any failure. It undoes an effect that would prevent the nodes from
	// ending. It is nil if the fault has no such effect.
	release func(node string) error
}

func harms(f scenario.Fault, c Cluster, links Links) harm {
	plain := func(do func(string) error) func(context.Context, string) error {
		return func(_ context.Context, node string) error { return do(node) }
	}
	switch f.Kind {
	case scenario.FaultKill:
		return harm{do: plain(c.Kill), undo: c.Start}
	case scenario.FaultRestart:
		return harm{do: c.Stop, undo: c.Start}
	case scenario.FaultWipe:
		return harm{do: plain(c.Kill), undo: func(ctx context.Context, node string) error { return rejoin(ctx, c, node) }}
	case scenario.FaultPause:
		return harm{do: plain(c.Pause), undo: plain(c.Resume), release: c.Resume}
	case scenario.FaultMembership:
		return harm{do: c.Remove, undo: c.Add}
	case scenario.FaultPartition, scenario.FaultDelay, scenario.FaultBandwidth:
		heal := func(node string) error { return setLinks(c, links, f.Direction, node, netproxy.Conditions{}) }
		return harm{
			do:      plain(func(node string) error { return setLinks(c, links, f.Direction, node, conditions(f)) }),
			undo:    plain(heal),
			release: heal,
		}
	}
	unknown := plain(func(string) error { return fmt.Errorf("unknown kind of fault %q", f.Kind) })
	return harm{do: unknown, undo: unknown}
}

// rejoin makes a node without data a new member of the cluster. The node has lost the promises that
// it made to the other nodes, so it must not return as the same member.
func rejoin(ctx context.Context, c Cluster, node string) error {
	if err := c.Remove(ctx, node); err != nil {
		return err
	}
	if err := c.Wipe(node); err != nil {
		return err
	}
	return c.Start(ctx, node)
}

func conditions(f scenario.Fault) netproxy.Conditions {
	c := netproxy.Conditions{Delay: f.Delay, Jitter: f.Jitter, BytesPerS: f.BytesPerS}
	if f.Kind == scenario.FaultPartition {
		c.Cut = netproxy.Drop
		if f.Mode == scenario.Reset {
			c.Cut = netproxy.Reset
		}
	}
	return c
}

// setLinks sets the conditions of the links between a node and all other nodes. direction selects
// the incoming links, the outgoing links, or both, as seen from the node.
func setLinks(c Cluster, links Links, direction, node string, conditions netproxy.Conditions) error {
	if links == nil {
		return errors.New("the links of this cluster can't be changed")
	}
	for _, other := range c.Nodes() {
		if other == node {
			continue
		}
		if direction != scenario.DirectionIn {
			links.Set(node, other, conditions)
		}
		if direction != scenario.DirectionOut {
			links.Set(other, node, conditions)
		}
	}
	return nil
}

// each calls do for all nodes concurrently. It returns all errors, in the order of the nodes.
func each(nodes []string, do func(string) error) error {
	errs := make([]error, len(nodes))
	var all sync.WaitGroup
	for i, node := range nodes {
		all.Go(func() {
			if err := do(node); err != nil {
				errs[i] = fmt.Errorf("%s: %w", node, err)
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
