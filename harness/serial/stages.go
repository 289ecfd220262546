package serial

import (
	"github.com/pronybench/prony/harness/profile"
	"github.com/pronybench/prony/harness/result"
)

const engine = "github.com/pronybench/prony/engine/"

// stageAreas divide the server's CPU time among the goroutines of the pipeline, in the order in
// which a request passes through them. A sample belongs to the first area that matches.
var stageAreas = []profile.Area{
	{Name: "collect garbage", Within: []string{"runtime.gcBgMarkWorker", "runtime.bgsweep", "runtime.bgscavenge"}},
	{Name: "transport in", Within: []string{"google.golang.org/grpc/internal/transport.(*http2Server).HandleStreams"}},
	{Name: "receive", Within: []string{engine + "rpc.(*produceStream).receive"}},
	{Name: "decide", Within: []string{engine + "shard.(*decider).run"}},
	{Name: "publish", Within: []string{engine + "shard.(*publisher).run"}},
	{Name: "send", Within: []string{engine + "rpc.(*produceStream).send"}},
	{Name: "transport out", Within: []string{"google.golang.org/grpc/internal/transport.(*loopyWriter).run"}},
	{Name: "schedule", Within: []string{"runtime.mcall", "runtime.mstart", "runtime.sysmon", "runtime.morestack"}},
}

// restOfStages is the name of the CPU time outside of all areas: the admin listener, profiling, and
// other work of the runtime.
const restOfStages = "other"

// Areas of the runtime's functions that make system calls.
var (
	futexArea = profile.Area{Name: "futex", Within: []string{"runtime.futex"}, Innermost: true}
	yieldArea = profile.Area{Name: "yield", Within: []string{"runtime.osyield", "runtime.usleep", "runtime.procyield"}, Innermost: true}
)

// decideArea is the stage of the deciding goroutine.
const decideArea = "decide"

// divide divides a session's CPU time by stage, and divides the times by the number of requests in
// into.
func divide(session *profile.Session, into *result.SerialProfile) error {
	stages, samples, err := session.Areas(stageAreas)
	if err != nil {
		return err
	}
	calls, _, err := session.Areas([]profile.Area{futexArea, yieldArea})
	if err != nil {
		return err
	}
	requests := float64(into.Requests)
	into.Samples = samples
	into.SerialNs = stages[decideArea] / requests
	into.FutexNs, into.YieldNs = calls[futexArea.Name]/requests, calls[yieldArea.Name]/requests
	for _, area := range stageAreas {
		into.Stages = append(into.Stages, result.SerialStage{Name: area.Name, Ns: stages[area.Name] / requests})
	}
	into.Stages = append(into.Stages, result.SerialStage{Name: restOfStages, Ns: stages[""] / requests})
	return nil
}
