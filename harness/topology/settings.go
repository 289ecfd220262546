package topology

import (
	"slices"

	"github.com/pronybench/prony/engine/config"
	"github.com/pronybench/prony/harness/result"
)

// places are the settings that this package chooses for each start: addresses, folders, files and names.
var places = []string{
	"listen", "http", "admin", "address_file", "data", "tls.cert", "tls.key",
	"cluster.node", "cluster.listen", "cluster.advertise", "cluster.peers", "cluster.join", "cluster.certs",
}

// Settings returns what the servers said, when they served, that they run with: all settings of the first server that said them, and of
// the others only those that first does not have alike. A nil first stands for the settings of that first server.
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

// CheckSetting says what is wrong with a setting of the server, by the name that the server has for it, and how to mend it, as far as the setting
// alone tells; "" means nothing. A server of another version may have other settings.
func CheckSetting(name, value string) (message, remedy string) { return config.CheckValue(name, value) }

func withoutPlaces(all []result.ServerSetting) []result.ServerSetting {
	return slices.DeleteFunc(all, func(s result.ServerSetting) bool { return slices.Contains(places, s.Name) })
}

// Settings returns what the server's process said, when it served, that it runs with, without addresses and paths. It returns nil for
// a server that does not say it and for one that is a part of this process. The slice must not be changed.
func (n *Node) Settings() []result.ServerSetting { return n.settings }
