package duet

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/pronybench/prony/harness/result"
)

const (
	// sliceLength is short against the times in which a host changes its speed, which are tens of milliseconds and more, and long against
	// the part of a millisecond that the last cycles of a slice take. In the same minutes the CPU time of identical servers differed
	// from generation to generation by 3.2 % with slices of 25 ms, by 2.8 % with those of 10 ms, and by 2.5 % with those of 5 ms, of which
	// begin and end are a tenth.
	sliceLength = 10 * time.Millisecond
	// warmupPairs are slices of each side before the first one that counts: by then connections, caches and heaps have their sizes.
	warmupPairs = 15
	// closedLength and the open phase make a generation of some five seconds with its start and end. Many short generations yield
	// a better interval than few long ones, as long as the start of the processes is a small part of each.
	closedLength = 3 * time.Second
	// startLength is about what the start and the end of the processes of a generation take.
	startLength = time.Second
)

// sideError is a failure of one side.
type sideError struct {
	side int
	err  error
}

func (e *sideError) Error() string { return e.err.Error() }
func (e *sideError) Unwrap() error { return e.err }

// sideErrors returns the failures of both sides that an error wraps or joins.
func sideErrors(err error) (all []*sideError) {
	switch e := err.(type) { //nolint:errorlint // all of them are wanted, and errors.As returns the first
	case *sideError:
		return []*sideError{e}
	case interface{ Unwrap() []error }:
		for _, part := range e.Unwrap() {
			all = append(all, sideErrors(part)...)
		}
	case interface{ Unwrap() error }:
		return sideErrors(e.Unwrap())
	}
	return all
}

// of marks an error as one of a side. It returns nil for nil.
func of(side int, err error) error {
	if err == nil {
		return nil
	}
	return &sideError{side, err}
}

// pairs gives the closed load of a generation to its two parties.
type pairs struct {
	parties  [2]party
	first    int // the side that is read first
	order    *rand.Rand
	together bool
	now      func() time.Time
	cycles   [2]uint64 // completed so far, slices of the warm-up included
}

// warmUp gives so many slices to each side that do not count.
func (p *pairs) warmUp(ctx context.Context, count int) error {
	for range count {
		if _, err := p.pair(ctx, func() ([2]clocks, error) { return [2]clocks{}, nil }, &[2]clocks{}); err != nil {
			return err
		}
	}
	return nil
}

// measure gives pairs of slices for a length, and returns the slices and the sums of each side. Each slice begins where the one before
// ended: what a server used of the CPUs is in exactly one slice, so the parts add up to the whole. What a generator used in slices of the
// other side is in the sums alone.
func (p *pairs) measure(ctx context.Context, length time.Duration) (slices []result.Slice, sides [2]result.GenerationSide, err error) {
	begin, err := p.clocks()
	if err != nil {
		return nil, sides, err
	}
	edge := begin
	for until := p.now().Add(length); p.now().Before(until); {
		of, err := p.pair(ctx, p.clocks, &edge)
		if err != nil {
			return nil, sides, err
		}
		slices = append(slices, of...)
	}
	for i := range sides {
		s := &sides[i]
		s.ServerCPUNs = int64(edge[i].servers - begin[i].servers)
		s.ClientCPUNs = int64(edge[i].generator - begin[i].generator)
	}
	for _, s := range slices {
		sides[s.Side].Cycles += s.Cycles
		sides[s.Side].ActiveS += s.Seconds
		sides[1-s.Side].IdleCPUNs += s.OtherCPUNs
	}
	return slices, sides, nil
}

// clocks reads the CPU clocks of both sides.
func (p *pairs) clocks() (now [2]clocks, err error) {
	for _, i := range inOrder(p.first) {
		if now[i], err = p.parties[i].cpu(); err != nil {
			return now, of(i, err)
		}
	}
	return now, nil
}

// pair gives one slice to each side, in an order drawn at random, or to both at once. edge has the clocks at its begin, and is set to
// those at its end.
func (p *pairs) pair(ctx context.Context, read func() ([2]clocks, error), edge *[2]clocks) ([]result.Slice, error) {
	if p.together {
		return p.both(ctx, read, edge)
	}
	var slices []result.Slice
	for _, side := range inOrder(p.order.IntN(2)) {
		cycles, took, err := p.parties[side].slice(ctx, sliceLength)
		if err != nil {
			return nil, of(side, fmt.Errorf("slice: %w", err))
		}
		p.cycles[side] += cycles
		now, err := read()
		if err != nil {
			return nil, err
		}
		s := sliceOf(side, cycles, took, edge, &now)
		s.OtherCPUNs = int64(now[1-side].servers - edge[1-side].servers)
		slices = append(slices, s)
		*edge = now
	}
	return slices, nil
}

// both gives a slice to both sides at once. What each used is its own, so that no slice has CPU time of the other side.
func (p *pairs) both(ctx context.Context, read func() ([2]clocks, error), edge *[2]clocks) ([]result.Slice, error) {
	var cycles [2]uint64
	var took [2]time.Duration
	err := atOnce(func(side int) (err error) {
		if cycles[side], took[side], err = p.parties[side].slice(ctx, sliceLength); err != nil {
			return fmt.Errorf("slice: %w", err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for side, n := range cycles {
		p.cycles[side] += n
	}
	now, err := read()
	if err != nil {
		return nil, err
	}
	slices := []result.Slice{
		sliceOf(Base, cycles[Base], took[Base], edge, &now), sliceOf(Change, cycles[Change], took[Change], edge, &now),
	}
	*edge = now
	return slices, nil
}

func sliceOf(side int, cycles uint64, took time.Duration, before, after *[2]clocks) result.Slice {
	return result.Slice{
		Side: side, Seconds: took.Seconds(), Cycles: cycles,
		ServerCPUNs: int64(after[side].servers - before[side].servers),
		ClientCPUNs: int64(after[side].generator - before[side].generator),
	}
}

// inOrder returns both sides, first that one.
func inOrder(first int) [2]int { return [2]int{first, 1 - first} }

// atOnce calls do for both sides at once, and returns the errors of both.
func atOnce(do func(side int) error) error {
	var errs [2]error
	var all sync.WaitGroup
	for side := range errs {
		all.Go(func() { errs[side] = of(side, do(side)) })
	}
	all.Wait()
	return errors.Join(errs[0], errs[1])
}
