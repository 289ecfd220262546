// Package reference measures the current speed of a host: fixed operations that use the host but
// not the server under test. A limit relative to a reference holds on fast and slow hosts.
//
// There are five references: the bare data path of a task queue (package bare), an echo over the
// transport of a driver, a raw Pebble commit, an fsync, and a computing loop on one core. The bare
// data path takes Config.BareFor, half of that as warm-up before it, and the time to start and stop
// two processes. Each of the others takes Config.For, and some milliseconds to start and stop. A
// measurement sets GOMAXPROCS and counts the CPU time of this process, so nothing else should run
// in the process.
//
// The bare data path starts the binary of this process again, which must call bare.Main if
// bare.IsChild reports true for its arguments.
package reference

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// Config defines the measurements.
type Config struct {
	// Dir is an existing folder in the file system of the servers' data. Files written there are
	// removed.
	Dir         string
	Driver      string // of the echo: "stream", "unary" or "rest"
	Listen      string // of the echo: "tcp" or "unix"
	TLS         bool   // of the echo: encrypt its connections
	Callers     int    // of the echo: concurrent calls; at least 1
	Connections int    // of the echo: at least 1
	Procs       int    // GOMAXPROCS of the echo, for both of its sides; 0: unchanged
	// Batch is the number of keys in a batch of the Pebble commit, at least 1. If it is 1, calls of
	// the bare data path have one task.
	Batch   int
	Payload int           // bytes of each task; at least 1
	Sync    bool          // of the bare data path and the Pebble commit: wait for fsync
	BareFor time.Duration // measured time of a sample of the bare data path; above 0
	For     time.Duration // time of a sample of the other references; above 0
}

// Of returns the configuration of the references of a scenario; dir contains the servers' data. It
// uses the first workload, and with a sweep the first point. For a payload of varying size it uses
// the middle size.
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
		c.Procs = w.Procs + s.Topology.Procs // the echo has both sides in one process
	}
	return c
}

// callersMax bounds the calls and the connections of an echo. More than this do not increase the
// load of its sides, and only take longer to connect.
const callersMax = 64

type kind struct {
	operation string
	measure   func(context.Context, Config) (measured, error)
}

// measured is the result of a reference.
type measured struct {
	operations uint64
	wall, cpu  time.Duration
	server     time.Duration // part of cpu: the bare data path's server
}

var kinds = map[string]kind{
	scenario.ReferenceBare: {"enqueue, claim and completion of one task on the bare data path: gRPC streams, one deciding goroutine and Pebble, between two" +
		" processes with a GOMAXPROCS of 1", bareDataPath},
	scenario.ReferenceEcho:         {"a message of one call's payloads there and back over the driver's transport, without a queue", echo},
	scenario.ReferencePebbleCommit: {"a commit of one call's payloads to a store of their own", pebbleCommit},
	scenario.ReferenceFsync:        {"an append of 512 bytes and its fdatasync in the data folder", fsync},
	scenario.ReferenceCPU:          {"1,000 dependent steps of computing on one core", cpu},
}

// Describe returns a description of the named reference, without figures. Its operation is "" for
// an unknown reference.
func Describe(name string, c Config) result.Reference {
	of := result.Reference{Name: name, Operation: kinds[name].operation}
	if name == scenario.ReferenceBare {
		of.Batch, of.Durability = result.BareConditions(c.Batch, c.Sync)
		of.Operation += fmt.Sprintf(", with %s a call, at durability %s", render.Plural(of.Batch, "task"), of.Durability)
	}
	return of
}

// Measure takes one sample of the named reference, one of scenario.ReferenceNames. It fails if the
// reference cannot be measured, and ends early with ctx's error.
func Measure(ctx context.Context, name string, c Config) (result.ReferenceSample, error) {
	k, known := kinds[name]
	if !known {
		return result.ReferenceSample{}, fmt.Errorf("unknown reference %q", name)
	}
	began := time.Now()
	m, err := k.measure(ctx, c)
	if ended := ctx.Err(); ended != nil {
		err = ended // gRPC has a separate error for this
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

// usage holds the clock and the CPU time of this process.
type usage struct {
	at  time.Time
	cpu time.Duration
}

func now() (usage, error) {
	spent, err := observe.ProcessCPU(os.Getpid())
	return usage{time.Now(), spent}, err
}

// since returns the usage since u, for the given number of operations.
func (u usage) since(operations uint64) (measured, error) {
	after, err := now()
	return measured{operations: operations, wall: after.at.Sub(u.at), cpu: after.cpu - u.cpu}, err
}

// repeat calls one until the time has passed, and at least once. It counts the calls.
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
