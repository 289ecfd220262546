package serial

import (
	"context"
	"fmt"
	"time"

	"github.com/pronybench/prony/harness/generator"
	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/profile"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// edge contains the counters of the processes and of the host at the start or the end of a window.
type edge struct {
	at                time.Time
	server, generator time.Duration // CPU time
	switches          observe.Switches
	host              observe.HostCPU
	hostKnown         bool
	metrics           []observe.Metrics
}

func (s *processes) edge(ctx context.Context) (e edge, err error) {
	metrics, err := observe.ScrapeAll(ctx, s.admin)
	if err != nil {
		return e, err
	}
	e.metrics = []observe.Metrics{metrics}
	if e.switches, err = observe.ContextSwitches(s.server); err != nil {
		return e, err
	}
	if e.server, err = observe.ProcessCPU(s.server); err != nil {
		return e, err
	}
	if e.generator, err = observe.ProcessCPU(s.load.PID()); err != nil {
		return e, err
	}
	e.host, e.hostKnown = observe.ReadHostCPU()
	e.at = time.Now()
	return e, nil
}

// window measures for the given length how much requests cost with the given work. It then measures
// response times for length/2, and takes a profile for length. These are separate measurements,
// because both cost CPU time.
func (s *processes) window(ctx context.Context, workNs float64, length time.Duration) (*result.SerialWindow, error) {
	inForce, err := s.setWork(ctx, workNs)
	if err != nil {
		return nil, err
	}
	w := &result.SerialWindow{WorkNs: inForce}
	if err := s.costs(ctx, w, length); err != nil {
		return nil, err
	}
	timed, err := s.load.Noops(ctx, length/2, true)
	if err != nil {
		return nil, err
	}
	w.LongestMs, w.LongestOf = float64(timed.Longest)/1e6, timed.Requests
	if err := s.profile(ctx, &w.Profile, length); err != nil {
		return nil, fmt.Errorf("profile the server: %w", err)
	}
	return w, nil
}

func (s *processes) costs(ctx context.Context, w *result.SerialWindow, length time.Duration) error {
	before, err := s.edge(ctx)
	if err != nil {
		return err
	}
	slice, err := s.load.Noops(ctx, length, false)
	if err != nil {
		return err
	}
	after, err := s.edge(ctx)
	if err != nil {
		return err
	}
	if err := answered(slice); err != nil {
		return err
	}
	requests := float64(slice.Requests)
	w.Seconds, w.Requests, w.RequestsPerS = slice.Took.Seconds(), slice.Requests, requests/slice.Took.Seconds()
	w.ServerCPUNs = float64(after.server-before.server) / requests
	w.GeneratorCPUNs = float64(after.generator-before.generator) / requests
	w.VoluntarySwitches = float64(after.switches.Voluntary-before.switches.Voluntary) / requests
	w.InvoluntarySwitches = float64(after.switches.Involuntary-before.switches.Involuntary) / requests
	if w.ServerCPUNs > 0 {
		w.Efficiency = w.WorkNs / w.ServerCPUNs
	}
	if before.hostKnown && after.hostKnown {
		idle := after.host.IdlePercent(before.host)
		w.IdlePercent = &idle
	}
	stages, problems := observe.Stages(before.metrics, after.metrics)
	if len(problems) > 0 {
		return fmt.Errorf("read the server's stages: %s", problems[0])
	}
	for _, stage := range stages {
		if stage.Name == result.StageDecide {
			w.DecideNs = 1e6 * stage.SumMs / requests
		}
	}
	return nil
}

// profile takes a CPU profile of the server under load and divides it by stage.
func (s *processes) profile(ctx context.Context, into *result.SerialProfile, length time.Duration) (err error) {
	session, err := profile.Start(ctx, profile.Server{Admin: s.admin}, []scenario.Capture{{Kind: "cpu"}}, func() profile.Mark { return profile.Mark{At: time.Now()} })
	if err != nil {
		return err
	}
	err = session.StartCPU(ctx)
	var slice generator.NoopSlice
	if err == nil {
		slice, err = s.load.Noops(ctx, length, false)
	}
	if stopErr := session.Stop(ctx); err == nil {
		err = stopErr
	}
	if err == nil {
		err = answered(slice)
	}
	if err != nil {
		return err
	}
	into.Requests = slice.Requests
	return divide(session, into)
}

func answered(slice generator.NoopSlice) error {
	if slice.Requests == 0 {
		return fmt.Errorf("no request was answered in %v", slice.Took)
	}
	return nil
}
