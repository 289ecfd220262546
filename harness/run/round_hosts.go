package run

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/pronybench/prony/harness/hosts"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/topology"
	"github.com/pronybench/prony/harness/validity"
)

// leaveOut excludes the points whose hosts this machine cannot create as specified. It calls probe
// once if any point has hosts.
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

// leave excludes a point, counted from 0, from the run.
func (r *runner) leave(point int, why string) {
	if r.leftOut == nil {
		r.leftOut = map[int]bool{}
	}
	r.leftOut[point] = true
	r.result.NotMeasured = append(r.result.NotMeasured, result.NotMeasured{Point: r.numberOf(point), Name: r.points[point].Name, Why: why})
}

// numberOf returns the number of a point, counted from 0, in the result: 0 without a sweep.
func (r *runner) numberOf(point int) int {
	if len(r.scenario.Points) == 0 {
		return 0
	}
	return point + 1
}

// judgeLeftOut reports the excluded points: as warnings or, if every point is excluded, as reasons
// why the run is invalid.
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

// betweenHosts is the network between the hosts of a round's nodes and its traffic in the window. A
// nil *betweenHosts means nodes without separate hosts; all its methods do nothing.
type betweenHosts struct {
	network *hosts.Network
	from    hosts.Counted
	passed  *result.Hosts // nil before the end of the window
}

// startHosts creates the hosts of a round's point and sets them in config. It returns nil if the
// point has none.
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

func (b *betweenHosts) windowBegins() (err error) {
	if b == nil {
		return nil
	}
	b.from, err = b.network.Count(true)
	return err
}

func (b *betweenHosts) windowEnds() error {
	if b == nil {
		return nil
	}
	to, err := b.network.Count(false)
	if err != nil {
		return err
	}
	b.passed = b.network.Measured(b.from, to)
	return nil
}

// watchBetween makes the window count the traffic between the hosts.
func (w *windowProbe) watchBetween(between *betweenHosts) {
	w.between = between
	if between != nil {
		w.beside = append(w.beside, between.network.ForwarderPID())
	}
}

// judgeBetween adds the traffic between the hosts to the round and makes it invalid if the network
// was not as the scenario specifies.
func (r *runner) judgeBetween(w *windowProbe, m *measured) {
	if w.between == nil || w.between.passed == nil {
		return
	}
	m.round.Hosts = w.between.passed
	j := validity.Reasoned(m.round.Hosts.Misses(), r.scenario.Validity)
	if late := m.round.Hosts.Late(); late != "" {
		j.Warnings = append(j.Warnings, late)
	}
	m.judged(j, w.kind == profiled)
}
