package profile

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/pprof/profile"

	"github.com/pronybench/prony/harness/adminhttp"
	"github.com/pronybench/prony/harness/scenario"
)

// Session is one capture of one window. Start, Stop and Write are called in this order from one
// goroutine at a time; Stop must be called for each Session that Start returned.
type Session struct {
	admin    adminhttp.Client
	captures []capture
	before   map[string]snapshot
	cpu      *cpuCapture // nil when no CPU profile is wanted

	stop     sync.Once
	stopErr  error
	profiles map[string]*profile.Profile // what Stop made, by kind
}

// snapshot is a profile and when it was taken.
type snapshot struct {
	profile *profile.Profile
	taken   time.Time
}

// Start begins the captures at the start of a window of a process whose admin listener is
// given: it switches the profiling rates on, takes the first snapshots, then begins the CPU
// profile, which covers the whole seconds of window. An allocation capture makes the process
// collect its garbage at both ends of the window. When Start fails it has switched the rates off
// again as far as the process still answers, and nothing is left running.
//
// Cancelling ctx ends the CPU profile early, which Stop then reports.
func Start(ctx context.Context, admin adminhttp.Client, captures []scenario.Capture, window time.Duration) (*Session, error) {
	checked, err := check(captures, window)
	if err != nil {
		return nil, fmt.Errorf("start profiles: %w", err)
	}
	s := &Session{admin: admin, captures: checked, before: make(map[string]snapshot)}
	if err := s.begin(ctx, window); err != nil {
		return nil, fmt.Errorf("start profiles: %w", errors.Join(err, s.ratesOff(ctx)))
	}
	return s, nil
}

func (s *Session) begin(ctx context.Context, window time.Duration) error {
	if rates := s.rates(); rates.any() {
		if err := setRates(ctx, s.admin, rates); err != nil {
			return err
		}
	}
	for _, c := range s.captures {
		if !c.cumulative {
			continue
		}
		taken, err := fetchSnapshot(ctx, s.admin, c.path)
		if err != nil {
			return fmt.Errorf("first %s snapshot: %w", c.name, err)
		}
		s.before[c.name] = taken
	}
	for _, c := range s.captures {
		if c.name != "cpu" {
			continue
		}
		cpu, err := startCPU(ctx, s.admin, int(window/time.Second))
		if err != nil {
			return err
		}
		s.cpu = cpu
	}
	return nil
}

// Stop ends the captures at the end of the window: it takes the second snapshots, switches the
// rates off and waits for the CPU profile, which ends about when the window does. With a cancelled
// ctx it gives the captures up, but still switches the rates off. When it returns, nothing of the
// session runs any more. A second call returns what the first one did.
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

func (s *Session) end(ctx context.Context) (map[string]*profile.Profile, error) {
	after, err := s.secondSnapshots(ctx)
	err = errors.Join(err, s.ratesOff(ctx))
	profiles := make(map[string]*profile.Profile, len(s.captures))
	if s.cpu != nil {
		recorded, cpuErr := s.cpu.wait(ctx)
		err = errors.Join(err, cpuErr)
		profiles["cpu"] = recorded
	}
	if err != nil {
		return nil, err
	}
	for _, c := range s.captures {
		switch {
		case c.cumulative:
			difference, err := subtract(s.before[c.name], after[c.name], c.kind)
			if err != nil {
				return nil, fmt.Errorf("%s profile of the window: %w", c.name, err)
			}
			profiles[c.name] = difference
		case c.path != "":
			profiles[c.name] = after[c.name].profile
		}
		profiles[c.name] = dropOwn(profiles[c.name])
	}
	return profiles, nil
}

// secondSnapshots takes all of them, in the order of the first ones so that each covers the same time.
func (s *Session) secondSnapshots(ctx context.Context) (map[string]snapshot, error) {
	after := make(map[string]snapshot, len(s.captures))
	for _, c := range s.captures {
		if c.path == "" {
			continue
		}
		taken, err := fetchSnapshot(ctx, s.admin, c.path)
		if err != nil {
			return nil, fmt.Errorf("last %s snapshot: %w", c.name, err)
		}
		after[c.name] = taken
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
	return setRates(ctx, s.admin, r)
}
