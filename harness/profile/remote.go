package profile

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/google/pprof/profile"
)

// Remote is a process that profiles itself when this process asks it to. The function sends a
// request to that process and returns the answer. The process must execute the request by
// Self.Answer.
type Remote func(ctx context.Context, ask Request) (packed []byte, err error)

// Request is a request that a Remote sends.
type Request struct {
	Do string `json:"do"` // one of the constants below
	// Mutex and Block are the profiling rates to set. A nil rate remains unchanged.
	Mutex *int64 `json:"mutex,omitempty"`
	Block *int64 `json:"block,omitempty"`
	Kind  string `json:"kind,omitempty"` // kind of a snapshot, by its name in a scenario
}

// Values of Request.Do.
const (
	doRates    = "rates"
	doSnapshot = "snapshot"
	doStartCPU = "start_cpu"
	doStopCPU  = "stop_cpu"
)

func (r Remote) setRates(ctx context.Context, wanted rates) error {
	_, err := r(ctx, Request{Do: doRates, Mutex: wanted.mutex, Block: wanted.block})
	return err
}

func (r Remote) snapshot(ctx context.Context, k kind) (*profile.Profile, error) {
	return r.fetch(ctx, Request{Do: doSnapshot, Kind: k.name})
}

func (r Remote) startCPU(ctx context.Context) error {
	_, err := r(ctx, Request{Do: doStartCPU})
	return err
}

func (r Remote) stopCPU(ctx context.Context) (*profile.Profile, error) {
	return r.fetch(ctx, Request{Do: doStopCPU})
}

func (r Remote) fetch(ctx context.Context, ask Request) (*profile.Profile, error) {
	packed, err := r(ctx, ask)
	if err != nil {
		return nil, err
	}
	return parse(packed, unpackedBytesMax)
}

// Answer executes a Remote's request in this process. If the request asks for a profile, Answer
// returns it in pprof's packed format.
func (s *Self) Answer(ctx context.Context, ask Request) ([]byte, error) {
	switch ask.Do {
	case doRates:
		return nil, s.setRates(ctx, rates{mutex: ask.Mutex, block: ask.Block})
	case doSnapshot:
		at := slices.IndexFunc(kinds, func(k kind) bool { return k.name == ask.Kind && k.runtime != "" })
		if at < 0 {
			return nil, fmt.Errorf("unknown snapshot kind %q", ask.Kind)
		}
		return s.packed(kinds[at])
	case doStartCPU:
		return nil, s.startCPU(ctx)
	case doStopCPU:
		return bytes.Clone(s.packedCPU()), nil
	}
	return nil, fmt.Errorf("request %q, expected %s, %s, %s or %s", ask.Do, doRates, doSnapshot, doStartCPU, doStopCPU)
}
