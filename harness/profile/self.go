package profile

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"runtime/pprof"

	"github.com/google/pprof/profile"
)

// Self profiles the calling process, for example the load generator. At most one session per
// process may be active, because the runtime supports only one CPU profile, and one rate of each
// kind.
type Self struct{ cpu bytes.Buffer }

func (*Self) setRates(_ context.Context, wanted rates) error {
	if wanted.mutex != nil {
		runtime.SetMutexProfileFraction(int(*wanted.mutex))
	}
	if wanted.block != nil {
		runtime.SetBlockProfileRate(int(*wanted.block))
	}
	return nil
}

func (s *Self) snapshot(_ context.Context, k kind) (*profile.Profile, error) {
	packed, err := s.packed(k)
	if err != nil {
		return nil, err
	}
	return parse(packed, unpackedBytesMax)
}

func (*Self) packed(k kind) ([]byte, error) {
	if k.collect {
		runtime.GC()
	}
	var packed bytes.Buffer
	if err := pprof.Lookup(k.runtime).WriteTo(&packed, 0); err != nil {
		return nil, fmt.Errorf("%s profile of this process: %w", k.name, err)
	}
	return packed.Bytes(), nil
}

func (s *Self) startCPU(context.Context) error {
	s.cpu.Reset()
	return pprof.StartCPUProfile(&s.cpu)
}

func (s *Self) stopCPU(context.Context) (*profile.Profile, error) {
	return parse(s.packedCPU(), unpackedBytesMax)
}

// packedCPU ends the CPU profile and returns it in pprof's packed format.
func (s *Self) packedCPU() []byte {
	pprof.StopCPUProfile()
	return s.cpu.Bytes()
}
