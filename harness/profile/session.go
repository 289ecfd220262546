package profile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/pprof/profile"

	"github.com/pronybench/prony/harness/scenario"
)

// Session is one capture of one window. Start, StartCPU, Stop and Write are called in this order from one
// goroutine at a time; Stop must be called for each Session that Start returned.
type Session struct {
	of       Process
	mark     func() Mark
	captures []capture
	before   map[string]*profile.Profile
	spans    map[string]Span // by kind
	cpu      bool            // a CPU profile is recorded
	warnings []string

	stop     sync.Once
	stopErr  error
	profiles map[string]*profile.Profile // what Stop made, by kind
}

// Start begins the captures shortly before a window: it switches the profiling rates of the process on and takes the first
// snapshots. StartCPU begins the CPU profile. mark is called at both ends of each profile; it says which time and which cycles
// the profile covers. An allocation capture makes the process collect its garbage at both ends. When Start fails it has switched
// the rates off again as far as the process still answers, and nothing is left running.
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

// StartCPU begins the CPU profile at the window's start, if one is wanted. A process that cannot record one is a warning.
func (s *Session) StartCPU(ctx context.Context) error {
	if !slices.ContainsFunc(s.captures, func(c capture) bool { return c.name == "cpu" }) {
		return nil
	}
	switch err := s.of.startCPU(ctx); {
	case errors.Is(err, errNoCPUProfile):
		s.captures = slices.DeleteFunc(s.captures, func(c capture) bool { return c.name == "cpu" })
		s.warnings = append(s.warnings, "there is no CPU profile of it: "+err.Error())
		return nil
	case err != nil:
		return fmt.Errorf("start the CPU profile: %w", err)
	}
	s.cpu, s.spans["cpu"] = true, Span{From: s.mark()}
	return nil
}

// Stop ends the captures at the end of the window: it ends the CPU profile, takes the last snapshots and switches the rates off.
// With a cancelled ctx it gives the captures up, but still ends the CPU profile and switches the rates off. When it returns,
// nothing of the session runs any more. A second call returns what the first one did.
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

// Spans returns what each profile covers, by kind. Call Spans after Stop.
func (s *Session) Spans() map[string]Span { return s.spans }

// Warnings say what could not be captured.
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

// stopCPU ends the CPU profile, also when ctx is done: the process has no other.
func (s *Session) stopCPU(ctx context.Context) (*profile.Profile, error) {
	if !s.cpu {
		return nil, nil
	}
	span := s.spans["cpu"]
	span.To = s.mark() // the process stops sampling when the request arrives
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), snapshotTimeout)
	defer cancel()
	recorded, err := s.of.stopCPU(ctx)
	if err != nil {
		return nil, fmt.Errorf("CPU profile: %w", err)
	}
	s.spans["cpu"] = span.lasting(time.Duration(recorded.DurationNanos))
	return recorded, nil
}

// secondSnapshots takes all of them, in the order of the first ones so that each covers the same time.
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

// rates returns those that the captures want; a nil one is left alone.
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

// ratesOff switches off what rates switched on, also when ctx is done.
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
