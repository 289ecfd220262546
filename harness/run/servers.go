package run

import (
	"slices"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/topology"
)

// recordServers takes into the manifest what the servers of a point say that they run with, at the first round of the point. All
// settings are those of the first server; of the others only what differs from these. The hosts of servers on other hosts are taken at the
// first round.
func (r *runner) recordServers(cluster *topology.Cluster, point int) {
	m := &r.result.Manifest
	if len(m.Hosts) == 0 {
		m.Hosts = cluster.Hosts()
		if cluster.Attached() { // no binary of this host's was measured
			m.Build = result.Build{
				GoVersion: "unknown", Commit: m.Hosts[0].Commit, Server: "unknown",
				Dirty: slices.ContainsFunc(m.Hosts, func(h result.ServerHost) bool { return h.Dirty }),
			}
		}
	}
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
