package serial

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/pronybench/prony/harness/adminhttp"
	"github.com/pronybench/prony/harness/generator"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/stat"
	"github.com/pronybench/prony/harness/topology"
)

// BuildTag is the build tag of servers that accept no-op requests.
const BuildTag = "serialbudget"

const (
	workPath     = "/debug/serial-budget"
	workTimeout  = 10 * time.Second
	workBytesMax = 4 << 10
)

// workInForce is the current work per request. A server reports it after a change.
type workInForce struct {
	WorkNs    float64 `json:"work_ns"`
	NsPerStep float64 `json:"ns_per_step"`
}

// processes contains a server and the generator of its no-op requests.
type processes struct {
	server int // process ID
	load   *generator.Process
	admin  adminhttp.Client
	order  *rand.Rand // determines the order of the slices in a pair

	cluster   *topology.Cluster
	nsPerStep float64
}

// topologyOf returns the topology of a point's server. The server stores nothing for no-op
// requests, so its durability does not matter.
func topologyOf(p *result.SerialPoint) scenario.Topology {
	return scenario.Topology{
		Kind: "single", Shards: 1, Durability: "none", Listen: "unix", Procs: p.ServerProcs, BusyPoll: p.Waits == result.WaitsSpinning,
		Build: &scenario.ServerBuild{Tags: []string{BuildTag}},
	}
}

// start starts the processes of a point. number is the number of the point, counted from 1; it is
// used in the names of the logs. If start returns an error, no process remains.
func (o *Options) start(ctx context.Context, folder *result.Folder, p *result.SerialPoint, number int) (*processes, error) {
	log := func(of string) string { return folder.File(fmt.Sprintf("%s-%02d.log", of, number)) }
	cluster, err := topology.Start(ctx, topology.Config{Binary: o.Server, Dir: folder.Path(), LogPath: log("server"), Topology: topologyOf(p)})
	if err != nil {
		return nil, err
	}
	node := cluster.Servers()[0].Node()
	s := &processes{
		cluster: cluster, server: node.PID, admin: cluster.Client(node.Admin), order: rand.New(rand.NewPCG(o.Seed, uint64(number))),
	}
	if _, err := s.setWork(ctx, 0); err != nil {
		return nil, errors.Join(err, s.stop(ctx))
	}
	address, _ := cluster.Addresses()
	s.load, err = generator.StartNoops(ctx, generator.Command{Binary: o.Generator, LogPath: log("generator")}, p.GeneratorProcs, generator.NoopSpec{
		Target:      generator.Target{Address: address, Token: cluster.Token, BusyPoll: p.Waits == result.WaitsSpinning},
		Connections: p.Connections, InFlight: p.InFlight,
	})
	if err != nil {
		return nil, errors.Join(err, s.stop(ctx))
	}
	return s, nil
}

func (s *processes) stop(ctx context.Context) error {
	var err error
	if s.load != nil {
		err = s.load.Kill()
	}
	return errors.Join(err, s.cluster.Stop(context.WithoutCancel(ctx)))
}

// setWork sets the work per request. It returns the effective work, which is a multiple of the
// duration of a step.
func (s *processes) setWork(ctx context.Context, ns float64) (workNs float64, err error) {
	work := time.Duration(max(0, ns) + 0.5)
	path := workPath + "?" + url.Values{"work": {strconv.FormatInt(int64(work), 10) + "ns"}}.Encode()
	body, err := s.admin.Do(ctx, http.MethodPut, path, nil, workTimeout, workBytesMax)
	if status := (adminhttp.StatusError{}); errors.As(err, &status) && status.Code == http.StatusNotFound {
		return 0, fmt.Errorf("the server does not accept no-op requests: it was built without the tag %s; build it with go build -tags %s ./engine/cmd/queued", BuildTag, BuildTag)
	}
	if err != nil {
		return 0, fmt.Errorf("set the work of requests: %w", err)
	}
	var set workInForce
	if err := json.Unmarshal(body, &set); err != nil {
		return 0, fmt.Errorf("set the work of requests: PUT %s: %w", s.admin.URL(path), err)
	}
	s.nsPerStep = set.NsPerStep
	return set.WorkNs, nil
}

// timePerRequest runs a slice of load with the given work per request. It returns the effective
// work and the average time between two answers, in nanoseconds.
func (s *processes) timePerRequest(ctx context.Context, workNs float64) (inForceNs, tookNs float64, err error) {
	if inForceNs, err = s.setWork(ctx, workNs); err != nil {
		return 0, 0, err
	}
	slice, err := answeredSlice(func() (generator.NoopSlice, error) { return s.load.Noops(ctx, sliceLength, false) })
	if err != nil {
		return 0, 0, err
	}
	return inForceNs, float64(slice.Took) / float64(slice.Requests), nil
}

// stalledMax is the number of slices in a row that may pass without an answer.
const stalledMax = 50

// answeredSlice repeats a slice without an answer. A busy host can keep a process from running for
// the length of a slice, and the search ignores such stalls anyway (see trimmed).
func answeredSlice(run func() (generator.NoopSlice, error)) (slice generator.NoopSlice, err error) {
	for range stalledMax {
		if slice, err = run(); err != nil || slice.Requests > 0 {
			return slice, err
		}
	}
	return slice, fmt.Errorf("%w, %d times in a row", answered(slice), stalledMax)
}

func (s *processes) pair(ctx context.Context, workNs float64) (inForceNs, slowdown float64, err error) {
	var inForce, took [2]float64 // index 0 is without work, index 1 with work
	first := s.order.IntN(2)
	for _, i := range [2]int{first, 1 - first} {
		if inForce[i], took[i], err = s.timePerRequest(ctx, float64(i)*workNs); err != nil {
			return 0, 0, err
		}
	}
	return inForce[1], took[1] / took[0], nil
}

// warmUp runs slices without work. It returns the average time between two answers, in nanoseconds.
func (s *processes) warmUp(ctx context.Context, count int) (baseNs float64, err error) {
	var all []float64
	for range count {
		_, ns, err := s.timePerRequest(ctx, 0)
		if err != nil {
			return 0, err
		}
		all = append(all, ns)
	}
	// the first half is ignored, because its caches are cold
	mean, err := stat.TrimmedMean(all[len(all)/2:], trimmed)
	return mean.Center, err
}
