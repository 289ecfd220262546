package report

import (
	"fmt"
	"strings"

	"github.com/pronybench/prony/harness/report/doc"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// generatorLimit names the points of a closed load at which the generator used more CPU time than
// the servers. The generator then limits the rate at least as much as the servers do. It returns ""
// if there is no such point, and for topologies without separate figures.
func generatorLimit(r *result.Result) string {
	s := &r.Manifest.Scenario
	if s.Topology.Kind == scenario.Embedded || s.Topology.Kind == scenario.NoTopology || !scenario.Any(s.Workloads, closedLoad) {
		return ""
	}
	if len(r.Points) == 0 {
		if !generatorCostsMore(r.Metrics) {
			return ""
		}
		return fmt.Sprintf("The server's limit. The generator used more CPU time than the server, %s and %s µs per cycle: a generator that spends less on a"+
			" call may reach a higher rate.", median(r.Metrics[result.ClientCPUUsPerCycle]), median(r.Metrics[result.ServerCPUUsPerCycle]))
	}
	var at []string
	for _, point := range r.Points {
		if generatorCostsMore(point.Metrics) {
			at = append(at, doc.Code(point.Name))
		}
	}
	switch len(at) {
	case 0:
		return ""
	case len(r.Points):
		return "The server's limit. At each point the generator used more CPU time than the server: a generator that spends less on a call may reach a higher rate."
	}
	return fmt.Sprintf("The server's limit at %s. There the generator used more CPU time than the server: a generator that spends less on a call may"+
		" reach a higher rate.", strings.Join(at, "; "))
}

func closedLoad(w scenario.Workload) bool { return w.Arrivals.Kind == scenario.Closed }

// generatorCostsMore reports whether the generator used more CPU time per cycle than the servers.
func generatorCostsMore(metrics map[string]result.Metric) bool {
	client, server := metrics[result.ClientCPUUsPerCycle], metrics[result.ServerCPUUsPerCycle]
	return server.Median > 0 && client.Median > server.Median
}
