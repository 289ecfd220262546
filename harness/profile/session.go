package profile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/pprof/profile"

	"github.com/pronybench/prony/harness/scenario"
)

// Session captures the profiles of one window. Callers must call Start, StartCPU, Stop and Write in
// this order and never concurrently. They must call Stop for each Session that Start returned.
type Session struct {
	of       Process
	mark     func() Mark
	captures []capture
	before   map[string]*profile.Profile
	spans    map[string]Span // by kind of profile
	cpu      bool            // whether a CPU profile is being recorded
	warnings []string

	stop     sync.Once
	stopErr  error
	profiles map[string]*profile.Profile // results of Stop, by kind
}

// Start starts the captures shortly before a window: it sets the profiling rates of the process and
// takes the first snapshots. It does not start the CPU profile; StartCPU does. mark returns the
// current time and the number of cycles. It is called at the start and the end of each profile. To
// capture allocations, the process runs a garbage collection at the start and at the end. If Start
// fails, no capture remains active, and Start resets the rates if the process still answers.
func Start(ctx context.Context, of Process, captures []scenario.Capture, mark func() Mark) (*Session, error) {
	checked, err := check(captures)
	if err != nil {
		return nil, fmt.Errorf("start profiles: %w", err)
	}
	s := &Session{of: of, mark: mark, captures: checked, before: make(map[string]*profile.Profile), spans: make(map[string]Span)}
	if err := s.begin(ctx); err != nil {
		return nil, fmt.Errorf("start profiles: %w", errors.Join(err, s.ratesOff(ctx)))
	}
	return s, nil
}

func (s *Session) begin(ctx context.Context) error {
	if rates := s.rates(); rates.any() {
		if err := s.of.setRates(ctx, rates); err != nil {
			return err
		}
	}
	for _, c := range s.captures {
		if !c.cumulative {
			continue
		}
		taken, err := s.of.snapshot(ctx, c.kind)
		if err != nil {
			return fmt.Errorf("first %s snapshot: %w", c.name, err)
		}
		s.before[c.name], s.spans[c.name] = taken, Span{From: s.mark()}
	}
	return nil
}

// StartCPU starts the CPU profile if the captures include one. It must be called at the start of
// the window. If the process does not support it, StartCPU only adds a warning.
func (s *Session) StartCPU(ctx context.Context) error {
	if !slices.ContainsFunc(s.captures, func(c capture) bool { return c.name == "cpu" }) {
		return nil
	}
	switch err := s.of.startCPU(ctx); {
	case errors.Is(err, errNoCPUProfile):
		s.captures = slices.DeleteFunc(s.captures, func(c capture) bool { return c.name == "cpu" })
		s.warnings = append(s.warnings, "no CPU profile: "+err.Error())
		return nil
	case err != nil:
		return fmt.Errorf("start the CPU profile: %w", err)
	}
	s.cpu, s.spans["cpu"] = true, Span{From: s.mark()}
	return nil
}

// Stop ends the captures at the end of the window: it ends the CPU profile, takes the last
// snapshots and resets the rates. If ctx is done, Stop discards the captures, but still ends the
// CPU profile and resets the rates. When Stop returns, the session is no longer active. Further
// calls return the result of the first one.
func (s *Session) Stop(ctx context.Context) error {
	s.stop.Do(func() {
		profiles, err := s.end(ctx)
		if err != nil {
			s.stopErr = fmt.Errorf("stop profiles: %w", err)
			return
		}
		s.profiles = profiles
	})
	return s.stopErr
}

// Spans returns the time that each profile covers, by kind. It may be called after Stop.
func (s *Session) Spans() map[string]Span { return s.spans }

// Warnings returns a sentence for each profile that could not be captured.
func (s *Session) Warnings() []string { return s.warnings }

func (s *Session) end(ctx context.Context) (map[string]*profile.Profile, error) {
	recorded, err := s.stopCPU(ctx)
	after, snapshotErr := s.secondSnapshots(ctx)
	err = errors.Join(err, snapshotErr, s.ratesOff(ctx))
	if err != nil {
		return nil, err
	}
	profiles := make(map[string]*profile.Profile, len(s.captures))
	for _, c := range s.captures {
		switch {
		case c.cumulative:
			difference, err := subtract(s.before[c.name], after[c.name], s.spans[c.name], c.kind)
			if err != nil {
				return nil, fmt.Errorf("%s profile of the window: %w", c.name, err)
			}
			profiles[c.name] = difference
		case c.runtime != "":
			profiles[c.name] = after[c.name]
		case recorded == nil:
			return nil, errors.New("CPU profile: it was not started")
		default:
			profiles[c.name] = recorded
		}
		profiles[c.name] = dropOwn(profiles[c.name])
	}
	return profiles, nil
}

// stopCPU ends the CPU profile. It does so even if ctx is done, because the process can have only
// one CPU profile.
func (s *Session) stopCPU(ctx context.Context) (*profile.Profile, error) {
	if !s.cpu {
		return nil, nil
	}
	span := s.spans["cpu"]
	span.To = s.mark() // the process stops sampling when it receives the request
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), snapshotTimeout)
	defer cancel()
	recorded, err := s.of.stopCPU(ctx)
	if err != nil {
		return nil, fmt.Errorf("CPU profile: %w", err)
	}
	s.spans["cpu"] = span.lasting(time.Duration(recorded.DurationNanos))
	return recorded, nil
}

// secondSnapshots takes the last snapshots in the same order as the first ones, so that all
// profiles cover a similar time.
func (s *Session) secondSnapshots(ctx context.Context) (map[string]*profile.Profile, error) {
	after := make(map[string]*profile.Profile, len(s.captures))
	for _, c := range s.captures {
		if c.runtime == "" {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		taken, err := s.of.snapshot(ctx, c.kind)
		if err != nil {
			return nil, fmt.Errorf("last %s snapshot: %w", c.name, err)
		}
		after[c.name] = taken
		span := s.spans[c.name]
		span.To = s.mark()
		if !c.cumulative {
			span.From = span.To
		}
		s.spans[c.name] = span
	}
	return after, nil
}

// rates returns the rates that the captures need. A nil rate remains unchanged.
func (s *Session) rates() rates {
	var r rates
	for _, c := range s.captures {
		switch c.name {
		case "mutex":
			fraction := int64(c.mutexFraction)
			r.mutex = &fraction
		case "block":
			nanoseconds := c.blockRate.Nanoseconds()
			r.block = &nanoseconds
		}
	}
	return r
}

// ratesOff resets the rates that the session has set. It does so even if ctx is done.
func (s *Session) ratesOff(ctx context.Context) error {
	r := s.rates()
	if !r.any() {
		return nil
	}
	var off int64
	if r.mutex != nil {
		r.mutex = &off
	}
	if r.block != nil {
		r.block = &off
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ratesTimeout)
	defer cancel()
	return s.of.setRates(ctx, r)
}

// dropOwn removes the samples of work that a process did only because it was profiled. Such samples
// have a frame of the runtime's profiler, or of the code in this package that profiles the
// harness's own process.
func dropOwn(p *profile.Profile) *profile.Profile {
	p.Sample = slices.DeleteFunc(p.Sample, func(s *profile.Sample) bool {
		return slices.ContainsFunc(frames(s), func(function string) bool {
			return packageOf(function) == "runtime/pprof" || packageOf(function) == "net/http/pprof" ||
				strings.HasPrefix(function, ownPrefix+"harness/profile.(*Session).") || strings.HasPrefix(function, ownPrefix+"harness/profile.(*Self).")
		})
	})
	return p.Compact()
}
