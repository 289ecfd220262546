package report

import (
	"fmt"
	"strings"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// generatorLimit says at which points of a closed load the generator took more CPU time than the servers, so that the rate is at least as much the
// generator's limit as the servers'. It returns "" if there is no such point, and for a topology that does not tell the two apart.
func generatorLimit(r *result.Result) string {
	s := &r.Manifest.Scenario
	if s.Topology.Kind == scenario.Embedded || s.Topology.Kind == scenario.NoTopology || !scenario.Any(s.Workloads, closedLoad) {
		return ""
	}
	if len(r.Points) == 0 {
		if !generatorCostsMore(r.Metrics) {
			return ""
		}
		return fmt.Sprintf("The server's limit. The generator took more CPU time than the server, %s and %s µs per cycle: a generator that spends less on a"+
			" call may reach a higher rate.", median(r.Metrics[result.ClientCPUUsPerCycle]), median(r.Metrics[result.ServerCPUUsPerCycle]))
	}
	var at []string
	for _, point := range r.Points {
		if generatorCostsMore(point.Metrics) {
			at = append(at, code(point.Name))
		}
	}
	switch len(at) {
	case 0:
		return ""
	case len(r.Points):
		return "The server's limit. At each point the generator took more CPU time than the server: a generator that spends less on a call may reach a higher rate."
	}
	return fmt.Sprintf("The server's limit at %s. There the generator took more CPU time than the server: a generator that spends less on a call may"+
		" reach a higher rate.", strings.Join(at, "; "))
}

func closedLoad(w scenario.Workload) bool { return w.Arrivals.Kind == scenario.Closed }

// generatorCostsMore reports whether a cycle cost the generator more CPU time than the servers.
func generatorCostsMore(metrics map[string]result.Metric) bool {
	client, server := metrics[result.ClientCPUUsPerCycle], metrics[result.ServerCPUUsPerCycle]
	return server.Median > 0 && client.Median > server.Median
}
