package run

import (
	"slices"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/topology"
)

// recordServers takes into the manifest what the servers of a point say that they run with, at the first round of the point. All
// settings are those of the first server; of the others only what differs from these.
func (r *runner) recordServers(cluster *topology.Cluster, point int) {
	m := &r.result.Manifest
	if slices.ContainsFunc(m.Servers, func(s result.ServerSettings) bool { return s.Point == point }) {
		return
	}
	var first []result.ServerSetting
	if len(m.Servers) > 0 {
		first = m.Servers[0].Settings
	}
	for _, s := range cluster.Settings(first) {
		s.Point = point
		m.Servers = append(m.Servers, s)
	}
}
