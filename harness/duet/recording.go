package duet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/pronybench/prony/harness/profile"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// sessions contains the captures of a side's servers. The last element is the capture of the side's
// generator.
type sessions struct {
	captures []scenario.Capture
	nodes    []string
	of       []*profile.Session // nil if the session could not be started
}

func (p *processes) profile(ctx context.Context, captures []scenario.Capture, mark func() profile.Mark) (recording, error) {
	s := &sessions{captures: captures}
	var processes []profile.Process
	for _, server := range p.cluster.Servers() {
		s.nodes = append(s.nodes, server.ID)
		processes = append(processes, profile.Server{Admin: p.cluster.Client(server.Node().Admin)})
	}
	s.nodes, processes = append(s.nodes, result.GeneratorNode), append(processes, profile.Remote(p.load.Profile))
	s.of = make([]*profile.Session, len(processes))
	err := s.each(func(i int) (err error) {
		s.of[i], err = profile.Start(ctx, processes[i], captures, mark)
		return err
	})
	if err == nil {
		err = s.each(func(i int) error { return s.of[i].StartCPU(ctx) })
	}
	if err != nil {
		return nil, errors.Join(err, s.end(ctx))
	}
	return s, nil
}

func (s *sessions) each(do func(i int) error) error {
	errs := make([]error, len(s.of))
	var all sync.WaitGroup
	for i := range s.of {
		all.Go(func() { errs[i] = do(i) })
	}
	all.Wait()
	return errors.Join(errs...)
}

func (s *sessions) end(ctx context.Context) error {
	return s.each(func(i int) error {
		if s.of[i] == nil {
			return nil
		}
		return s.of[i].Stop(ctx)
	})
}

func (s *sessions) stop(ctx context.Context, runDir string, round int, began time.Time) (r recorded, err error) {
	if err := s.end(ctx); err != nil {
		return r, err
	}
	for i, session := range s.of {
		of := profile.Source{Round: round, Node: s.nodes[i]}
		if _, err := session.Write(runDir, of.Dir()); err != nil {
			return r, err
		}
		captured := profile.Captured{Source: of, Cycles: map[string]uint64{}}
		spans := session.Spans()
		for _, c := range s.captures { // gives a stable order
			span, has := spans[c.Kind]
			if !has {
				continue
			}
			captured.Cycles[c.Kind] = span.Cycles()
			r.covered = append(r.covered, result.Covered{
				Of: result.CoveredProfile + c.Kind, Node: of.Node, Cycles: span.Cycles(),
				FromS: span.From.At.Sub(began).Seconds(), ToS: span.To.At.Sub(began).Seconds(),
			})
		}
		r.captured = append(r.captured, captured)
		for _, warning := range session.Warnings() {
			r.warnings = append(r.warnings, fmt.Sprintf("%s: %s", cmp.Or(of.Node, "server"), warning))
		}
	}
	return r, nil
}
