package run

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/pronybench/prony/harness/hosts"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/topology"
	"github.com/pronybench/prony/harness/validity"
)

// leaveOut excludes the points whose hosts cannot be created on this machine as specified. It calls
// probe once if any point has hosts.
func (r *runner) leaveOut(probe func() hosts.Able) {
	var able *hosts.Able
	for i, p := range r.points {
		want := p.Topology.Hosts
		if want == nil {
			continue
		}
		if able == nil {
			able = new(probe())
		}
		missing := able.Missing(*want)
		if missing == "" {
			continue
		}
		r.leave(i, missing)
	}
}

func (r *runner) leave(point int, why string) {
	if r.leftOut == nil {
		r.leftOut = map[int]bool{}
	}
	r.leftOut[point] = true
	r.result.NotMeasured = append(r.result.NotMeasured, result.NotMeasured{Point: r.numberOf(point), Name: r.points[point].Name, Why: why})
}

// numberOf returns the number that the result uses for a point. point is counted from 0. Without a
// sweep the number is 0.
func (r *runner) numberOf(point int) int {
	if len(r.scenario.Points) == 0 {
		return 0
	}
	return point + 1
}

// judgeLeftOut reports the excluded points. If every point is excluded, they are reasons why the
// run is invalid; otherwise they are warnings.
func (r *runner) judgeLeftOut() {
	all := len(r.leftOut) == len(r.points)
	for _, left := range r.result.NotMeasured {
		if all {
			r.result.Verdict = result.Invalid
			r.result.Reasons = append(r.result.Reasons, left.String())
		} else {
			r.result.Warnings = append(r.result.Warnings, left.String())
		}
	}
}

// betweenHosts is the network between the hosts of a round's nodes, and the traffic on it during
// the window. A nil *betweenHosts means that the nodes have no separate hosts; its methods then do
// nothing.
type betweenHosts struct {
	network *hosts.Network
	from    hosts.Counted
	passed  *result.Hosts // nil until the window has ended
}

// startHosts creates the hosts of a round's point and adds them to config. It returns nil if the
// point has no hosts.
func (r *runner) startHosts(ctx context.Context, p plannedRound, config *topology.Config) (*betweenHosts, error) {
	want := config.Topology.Hosts
	if want == nil {
		return nil, nil
	}
	network, err := hosts.Start(ctx, hosts.Config{
		Hosts: config.Topology.Nodes, Want: *want,
		Log: r.folder.File(filepath.Join(logsDir, fmt.Sprintf("forwarder-%02d.log", p.number))),
	})
	if err != nil {
		return nil, err
	}
	config.Network = network
	return &betweenHosts{network: network}, nil
}

func (b *betweenHosts) close() error {
	if b == nil {
		return nil
	}
	return b.network.Close()
}

func (b *betweenHosts) start(context.Context, time.Time) (err error) {
	if b == nil {
		return nil
	}
	b.from, err = b.network.Count(true)
	return err
}

func (b *betweenHosts) stop(ctx context.Context) error {
	if b == nil {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	to, err := b.network.Count(false)
	if err != nil {
		return err
	}
	b.passed = b.network.Measured(b.from, to)
	return nil
}

func (b *betweenHosts) fill(m *measured) error {
	if b != nil {
		m.round.Hosts = b.passed
	}
	return nil
}

// watchBetween makes the probe count the traffic between the hosts during the window.
func (w *windowProbe) watchBetween(between *betweenHosts) {
	w.between = between
	if between != nil {
		w.host.beside = append(w.host.beside, between.network.ForwarderPID())
	}
}

// judgeBetween makes the round invalid if the network between the hosts was not as the scenario
// specifies.
func (r *runner) judgeBetween(w *windowProbe, m *measured) {
	if m.round.Hosts == nil {
		return
	}
	j := validity.Reasoned(m.round.Hosts.Misses(), r.scenario.Validity)
	if late := m.round.Hosts.Late(); late != "" {
		j.Warnings = append(j.Warnings, late)
	}
	m.judged(j, w.kind == profiled)
}
