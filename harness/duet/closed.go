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
	// sliceLength is the length of a slice of the closed phase. It is short compared with the
	// changes of a host's speed, which take tens of milliseconds and more. It is long compared with
	// the last cycles of a slice, which take a fraction of a millisecond. In a measurement with
	// identical servers, the CPU time differed between generations by 3.2 % with slices of 25 ms,
	// by 2.8 % with slices of 10 ms, and by 2.5 % with slices of 5 ms. With 5 ms, however, the
	// start and the end take a tenth of each slice.
	sliceLength = 10 * time.Millisecond
	// warmupPairs is the number of slices per side before the measurement. After these slices,
	// connections, caches and heaps have reached their final sizes.
	warmupPairs = 15
	// closedLength and the open phase determine the length of a generation: some five seconds,
	// including its start and end. Many short generations yield a narrower interval than few long
	// ones, provided that the start of the processes is a small part of each generation.
	closedLength = 3 * time.Second
	// startLength is the approximate time that a generation needs to start and end its processes.
	startLength = time.Second
)

type sideError struct {
	side int
	err  error
}

func (e *sideError) Error() string { return e.err.Error() }
func (e *sideError) Unwrap() error { return e.err }

// sideErrors returns all sideErrors that an error wraps or joins.
func sideErrors(err error) (all []*sideError) {
	switch e := err.(type) { //nolint:errorlint // errors.As returns only the first
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

// of attributes an error to a side. It returns nil if err is nil.
func of(side int, err error) error {
	if err == nil {
		return nil
	}
	return &sideError{side, err}
}

// pairs runs the closed load of a generation on both parties.
type pairs struct {
	parties  [2]party
	first    int // side whose clocks are read first
	order    *rand.Rand
	together bool
	now      func() time.Time
	cycles   [2]uint64 // cycles completed so far, including the warm-up
}

func (p *pairs) warmUp(ctx context.Context, count int) error {
	for range count {
		if _, err := p.pair(ctx, func() ([2]clocks, error) { return [2]clocks{}, nil }, &[2]clocks{}); err != nil {
			return err
		}
	}
	return nil
}

// measure runs pairs of slices for the given duration. It returns the slices and the sums for each
// side. Each slice starts where the previous one ended. The CPU time of a server is therefore in
// exactly one slice, and the slices add up to the total. The CPU time that a generator uses during
// slices of the other side is only in the sums.
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

func (p *pairs) clocks() (now [2]clocks, err error) {
	for _, i := range inOrder(p.first) {
		if now[i], err = p.parties[i].cpu(); err != nil {
			return now, of(i, err)
		}
	}
	return now, nil
}

// pair runs one slice on each side, in random order or at the same time. edge contains the clocks
// at the start of the pair. pair replaces them by the clocks at the end of the pair.
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

// both runs a slice on both sides at the same time. A slice contains no CPU time of the other side,
// because each side uses only its own CPUs.
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

func inOrder(first int) [2]int { return [2]int{first, 1 - first} }

func atOnce(do func(side int) error) error {
	var errs [2]error
	var all sync.WaitGroup
	for side := range errs {
		all.Go(func() { errs[side] = of(side, do(side)) })
	}
	all.Wait()
	return errors.Join(errs[0], errs[1])
}
