package run

import (
	"slices"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/topology"
)

// recordServers stores the settings that the servers of a point report in the manifest. It does so
// at the first round of the point. It stores all settings of the first server, and only the
// differences for the other servers. It also stores remote hosts, at the first round of the run.
func (r *runner) recordServers(cluster *topology.Cluster, point int) {
	m := &r.result.Manifest
	if len(m.Hosts) == 0 {
		m.Hosts = cluster.Hosts()
		if cluster.Attached() { // the binary that was measured is not on this host
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
