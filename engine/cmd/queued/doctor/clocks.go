package doctor

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/pronybench/prony/engine/internal/clock"
)

// offMax is the maximum error of the clock of a server without a cluster.
const offMax = 500 * time.Millisecond

// serverClock compares a running server's clock with this host's wall clock. The server slews its
// clock towards the wall clock.
func (r *report) serverClock(ctx context.Context, in *Input, answered bool) {
	if !answered || in.ServerClock == nil {
		return
	}
	const check = "server's clock"
	ctx, cancel := context.WithTimeout(ctx, askMax)
	defer cancel()
	before := in.Host.Now()
	server, err := in.ServerClock(ctx)
	after := in.Host.Now()
	if err != nil {
		r.unasked(check, "the server does not report its time", err)
		return
	}
	// The server read its clock at a time between before and after.
	ahead, behind := server.Sub(after), before.Sub(server)
	bound := cmp.Or(in.Config.Node.Cluster.ClockSkewMax, offMax)
	apart, word := max(ahead, behind), "ahead of"
	if behind > ahead {
		word = "behind"
	}
	if apart > bound {
		r.add(check, Unfit, fmt.Sprintf("it is at least %v %s this host's wall clock; the bound is %v", apart.Round(time.Millisecond), word, bound),
			fmt.Sprintf("the server approaches the wall clock by 2 %%, which takes about %v: wait, or restart the server so that it adopts the wall clock immediately; find out what set the wall clock, and synchronize it with chrony",
				clock.ConvergesIn(apart).Round(time.Second)))
		r.measured(apart.Round(time.Millisecond).String(), "limit "+bound.String())
		return
	}
	within := max(server.Sub(before).Abs(), after.Sub(server).Abs()).Round(time.Microsecond)
	r.add(check, Fit, fmt.Sprintf("it agrees with this host's wall clock within %v", within), "")
	r.measured(within.String(), "limit "+bound.String())
}

// clusterClocks adds findings about the clocks of the other nodes, as the running server knows
// them.
func (r *report) clusterClocks(ctx context.Context, in *Input) {
	const check, remedy = "cluster clocks", "set the hosts' clocks and synchronize them, for example with chrony; a restarted node adopts its host's clock immediately"
	ctx, cancel := context.WithTimeout(ctx, askMax)
	defer cancel()
	nodes, err := in.ClusterClocks(ctx)
	if err != nil {
		r.unasked(check, "the server does not report the other nodes' clocks", err)
		return
	}
	bound := in.Config.Node.Cluster.ClockSkewMax
	for _, n := range nodes {
		word := "ahead of"
		if n.Ahead < 0 {
			word = "behind"
		}
		apart := fmt.Sprintf("that of %s is %v %s this node's, ±%v", n.Node, n.Ahead.Abs().Round(time.Microsecond), word, n.Error.Round(time.Microsecond))
		switch {
		case n.Problem != "":
			r.add(check, Unfit, n.Node+" does not lead: "+n.Problem, remedy)
		case n.Node == in.Config.Node.Cluster.Node: // this node needs no comparison
		case !n.Known:
			r.add(check, Warning, n.Node+" does not report its time", "check whether it runs, and which version")
		case bound > 0 && n.Ahead.Abs()-n.Error > bound:
			r.add(check, Unfit, fmt.Sprintf("%s; the bound is %v", apart, bound), remedy)
		default:
			r.add(check, Fit, apart, "")
		}
	}
}
