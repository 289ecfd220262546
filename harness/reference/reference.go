// Package reference measures the current speed of a host by fixed operations that use the host but
// not the server under test. A limit that is relative to a reference is valid on fast and slow
// hosts.
//
// There are five references: the bare data path of a task queue (package bare), an echo over the
// transport of a driver, a raw Pebble commit, an fsync, and a computing loop on one core. A sample
// of the bare data path takes Config.BareFor, plus half of that for a warm-up, plus the time to
// start and stop two processes. A sample of each other reference takes Config.For, plus some
// milliseconds to start and stop. A measurement sets GOMAXPROCS and measures the CPU time of this
// process, so nothing else should run in the process.
//
// The bare data path starts the binary of this process again, which must call bare.Main if
// bare.IsChild returns true for its arguments.
package reference

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/reference/bare"
	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// Config defines the measurements.
type Config struct {
	// Dir is an existing folder in the file system of the servers' data. Files that are written
	// there are removed.
	Dir         string
	Driver      string // driver whose transport the echo uses: "stream", "unary" or "rest"
	Listen      string // where the echo listens: "tcp" or "unix"
	TLS         bool   // whether the connections of the echo are encrypted
	Callers     int    // number of concurrent calls of the echo; at least 1
	Connections int    // number of connections of the echo; at least 1
	Procs       int    // GOMAXPROCS of the echo, for both ends together; 0 leaves it unchanged
	// Batch is the number of keys in a batch of the Pebble commit; it must be at least 1. If it is
	// 1, each call of the bare data path contains one task.
	Batch   int
	Payload int           // bytes of each task; at least 1
	Sync    bool          // whether the bare data path and the Pebble commit wait for fsync
	BareFor time.Duration // measured time of a sample of the bare data path; above 0
	For     time.Duration // measured time of a sample of any other reference; above 0
}

// Of returns the configuration for the references of a scenario. dir is the folder that contains
// the servers' data. Of uses the first workload; if there is a sweep, it uses the first point. If
// the payload size varies, it uses the middle size, or the median of a lognormal distribution.
func Of(s *scenario.Scenario, dir string) Config {
	w := s.Workloads[0]
	c := Config{
		Dir: dir, Driver: w.Driver, Listen: s.Topology.Listen, TLS: s.Topology.TLS, Sync: s.Topology.Durability == "sync",
		Callers: max(1, min(w.Producers, callersMax)), Connections: max(1, min(w.Connections, callersMax)),
		Batch: max(1, w.EnqueueBatch()), Payload: max(1, (w.Payload.Min+w.Payload.Max)/2), For: s.ReferenceSample(), BareFor: s.BareSample(),
	}
	if w.Payload.Kind == scenario.Lognormal {
		c.Payload = max(1, w.Payload.Median)
	}
	if w.Procs > 0 && s.Topology.Procs > 0 {
		c.Procs = w.Procs + s.Topology.Procs // both ends of the echo are in the same process
	}
	return c
}

// callersMax bounds the number of calls and of connections of an echo. More of them do not increase
// the load, and only take longer to connect.
const callersMax = 64

type kind struct {
	operation string
	measure   func(context.Context, Config) (measured, error)
}

// measured is the result of one sample.
type measured struct {
	operations uint64
	wall, cpu  time.Duration
	server     time.Duration // part of cpu that the server of the bare data path used
}

var kinds = map[string]kind{
	scenario.ReferenceBare: {"enqueue, claim and completion of one task on the bare data path: gRPC streams, one deciding goroutine and Pebble, between two" +
		" processes with a GOMAXPROCS of 1", bareDataPath},
	scenario.ReferenceEcho:         {"a message of one call's payloads there and back over the driver's transport, without a queue", echo},
	scenario.ReferencePebbleCommit: {"a commit of one call's payloads to a store of their own", pebbleCommit},
	scenario.ReferenceFsync:        {"an append of 512 bytes and its fdatasync in the data folder", fsync},
	scenario.ReferenceCPU:          {"1,000 dependent steps of computing on one core", cpu},
}

// Describe returns a description of the named reference, without figures. The field Operation is ""
// if the reference is unknown.
func Describe(name string, c Config) result.Reference {
	of := result.Reference{Name: name, Operation: kinds[name].operation}
	if name == scenario.ReferenceBare {
		of.Batch, of.Durability = result.BareConditions(c.Batch, c.Sync)
		of.Operation += fmt.Sprintf(", with %s a call, at durability %s", render.Plural(of.Batch, "task"), of.Durability)
	}
	return of
}

// Measure takes one sample of the named reference. The name must be in scenario.ReferenceNames.
// Measure returns an error if the reference cannot be measured. If ctx is done, it ends early and
// returns the error of ctx.
func Measure(ctx context.Context, name string, c Config) (result.ReferenceSample, error) {
	k, known := kinds[name]
	if !known {
		return result.ReferenceSample{}, fmt.Errorf("unknown reference %q", name)
	}
	began := time.Now()
	m, err := k.measure(ctx, c)
	if ended := ctx.Err(); ended != nil {
		err = ended // gRPC returns a different error in this case
	}
	if err != nil {
		return result.ReferenceSample{}, fmt.Errorf("measure the reference %s: %w", name, err)
	}
	if m.operations == 0 || m.wall <= 0 || m.cpu <= 0 {
		return result.ReferenceSample{}, fmt.Errorf("measure the reference %s: got %d operations in %v and %v of CPU time, expected all above 0",
			name, m.operations, m.wall, m.cpu)
	}
	each := func(cpu time.Duration) float64 {
		return float64(cpu) / float64(time.Microsecond) / float64(m.operations)
	}
	s := result.ReferenceSample{At: began, PerS: float64(m.operations) / m.wall.Seconds(), CPUUs: each(m.cpu)}
	if name == scenario.ReferenceBare {
		s.ServerCPUUs, s.ClientCPUUs = each(m.server), each(m.cpu-m.server)
	}
	return s, nil
}

// usage contains a time and the CPU time that this process has used until then.
type usage struct {
	at  time.Time
	cpu time.Duration
}

func now() (usage, error) {
	spent, err := observe.ProcessCPU(os.Getpid())
	return usage{time.Now(), spent}, err
}

func (u usage) since(operations uint64) (measured, error) {
	after, err := now()
	return measured{operations: operations, wall: after.at.Sub(u.at), cpu: after.cpu - u.cpu}, err
}

// repeat calls one repeatedly until the given time has passed, but at least once. It counts the
// calls.
func repeat(ctx context.Context, limit time.Duration, one func() error) (m measured, err error) {
	before, err := now()
	if err != nil {
		return m, err
	}
	operations := uint64(0)
	for time.Since(before.at) < limit || operations == 0 {
		if err := errors.Join(ctx.Err(), one()); err != nil {
			return m, err
		}
		operations++
	}
	return before.since(operations)
}

// bareDataPath measures cycles of the bare data path. The CPU time is the sum over both processes.
func bareDataPath(ctx context.Context, c Config) (measured, error) {
	batch, _ := result.BareConditions(c.Batch, c.Sync)
	m, err := bare.Measure(ctx, bare.Config{Dir: c.Dir, Batch: batch, Sync: c.Sync, Warmup: c.BareFor / 2, For: c.BareFor})
	return measured{operations: m.Cycles, wall: m.Wall, cpu: m.ServerCPU + m.ClientCPU, server: m.ServerCPU}, err
}
