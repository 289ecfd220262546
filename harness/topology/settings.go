package topology

import (
	"slices"

	"github.com/pronybench/prony/engine/config"
	"github.com/pronybench/prony/harness/result"
)

// places are the settings that this package chooses at each start: addresses, folders, files and
// names.
var places = []string{
	"listen", "http", "admin", "address_file", "data", "tls.cert", "tls.key",
	"cluster.node", "cluster.listen", "cluster.advertise", "cluster.peers", "cluster.join", "cluster.certs",
}

// Settings returns the settings that the servers published when they became ready. It returns all
// settings of the first such server. For the other servers it returns only settings that differ
// from first. If first is nil, the settings of the first server are used.
func (c *Cluster) Settings(first []result.ServerSetting) (all []result.ServerSettings) {
	for _, server := range c.servers {
		settings := server.Node().Settings()
		if len(settings) == 0 {
			continue
		}
		if first == nil {
			first = settings
		} else {
			settings = slices.DeleteFunc(slices.Clone(settings), func(s result.ServerSetting) bool { return slices.Contains(first, s) })
		}
		all = append(all, result.ServerSettings{Node: server.ID, Settings: settings})
	}
	return all
}

// CheckSetting checks the value of a server setting. name is the server's name for the setting.
// CheckSetting returns a description of the problem and its remedy, or "" if the value is valid. It
// does not detect conflicts with other settings. Servers of other versions may have other settings.
func CheckSetting(name, value string) (message, remedy string) { return config.CheckValue(name, value) }

func withoutPlaces(all []result.ServerSetting) []result.ServerSetting {
	return slices.DeleteFunc(all, func(s result.ServerSetting) bool { return slices.Contains(places, s.Name) })
}

// Settings returns the settings that the server's process published when it became ready, without
// addresses and paths. It returns nil for a server that does not publish them, and for a server
// inside this process. The caller must not modify the slice.
func (n *Node) Settings() []result.ServerSetting { return n.settings }
