package scenario

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// Topology says which processes are under test.
type Topology struct {
	Kind         string        `json:"kind"`           // "single", "sharded", Raft, Remote, Embedded, NoTopology or ByProgram
	Nodes        int           `json:"nodes,omitzero"` // of "raft", "remote" and "target": how many server processes; 0 of the others, which have one
	Shards       int           `json:"shards"`         // 0 of NoTopology
	Durability   string        `json:"durability"`     // "sync", "interval" or "none"; of ByProgram one of Guarantees
	SyncInterval time.Duration `json:"sync_interval"`
	Listen       string        `json:"listen"`             // "tcp" or "unix"; "" of Embedded, NoTopology and ByProgram
	Procs        int           `json:"procs,omitzero"`     // each server's GOMAXPROCS; 0: its own choice
	BusyPoll     bool          `json:"busy_poll,omitzero"` // the server's gRPC connections poll before their thread sleeps
	TLS          bool          `json:"tls,omitzero"`       // the servers' listeners for clients serve TLS, with a certificate made for each start of the topology
	Coalesce     *bool         `json:"coalesce,omitempty"` // of "raft": commands share entries of the Raft log; nil of the others
	Hosts        *Hosts        `json:"hosts,omitempty"`    // of "raft": what lies between the nodes; nil: all of them are on this one
	// DefaultSettings says that the server is given no setting but where it listens and keeps its
	// data. Durability is then what its default must be.
	DefaultSettings bool `json:"default_settings,omitzero"`
	// Remote says where the servers of Remote are; nil of the others.
	Remote *RemoteServers `json:"remote,omitempty"`
	// Target says which servers a driver program launches, of ByProgram; nil of the others.
	Target *TargetServers `json:"target,omitempty"`
	// Settings are further settings of the servers, by the names that the server has for them:
	// "storage.memtable_size". They are text, as the server's flags take it.
	Settings map[string]string `json:"settings,omitempty"`
	// Build says how the server is built; nil: it is the one that is found.
	Build *ServerBuild `json:"build,omitempty"`
}

// MarshalJSON writes durations as text.
func (t Topology) MarshalJSON() ([]byte, error) { return json.Marshal(t.stored()) }

// UnmarshalJSON reads what MarshalJSON writes.
func (t *Topology) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, t.stored()) }

func (t *Topology) stored() any {
	type plain Topology
	return &struct {
		*plain
		SyncInterval *duration `json:"sync_interval,omitzero"`
	}{(*plain)(t), (*duration)(&t.SyncInterval)}
}

var topologyBlock = hclfile.Inner{
	Names: hclfile.Names{Attributes: []string{
		"nodes", "shards", "durability", "sync_interval", "listen", "procs", "busy_poll", "tls", "coalesce", "default_settings",
		"token_file", "ca", "tls_name",
	}, Blocks: []string{"hosts", "node", "settings", "build"}},
	Label: "kind", Example: `topology "single" { durability = "none" }`, Required: true, Once: true,
}

// readTopology reads topology "KIND" { nodes shards durability sync_interval listen procs busy_poll
// tls coalesce default_settings hosts settings build }.
func readTopology(s *hclfile.Block, check ServerSettingCheck) Topology {
	if s.HasBlock("target") {
		return readTargetServers(s)
	}
	blocks := s.Blocks("topology", topologyBlock)
	if len(blocks) == 0 {
		return Topology{}
	}
	b := blocks[0]
	t := readKind(b)
	switch t.Kind {
	case Remote:
		refuseServerSettings(b, "servers on other hosts are started with their own settings")
		refuseServerBuild(b, "servers on other hosts run the program that is there, or the one that is found here")
		return readRemote(b, t)
	case NoTopology:
		refuseAttributes(b, "there is no server", topologyBlock.Names.Attributes...)
		refuseServerSettings(b, "there is no server")
		refuseServerBuild(b, "there is no server")
		t.Hosts = readHosts(b, &t)
		t.Durability = "none" // nothing is stored
		return t
	case Embedded:
		refuseAttributes(b, "the server is a part of the generator's process", "listen", "procs", "busy_poll", "tls")
		refuseServerSettings(b, "the server is a part of the generator's process, which takes no setting")
		refuseServerBuild(b, "the server is a part of the generator's process, which is built already")
	}
	refuseRemote(b)
	t.Durability = readDurability(b)
	t.Listen = b.Choice("listen", hclfile.ChoiceSpec{OneOf: []string{"tcp", "unix"}, Default: "tcp"})
	t.Procs = b.Int("procs", hclfile.IntSpec{Min: 1, Max: ProcsMax})
	t.Shards = readShards(b, t.Kind)
	t.BusyPoll = readBusyPoll(b, t.Procs)
	t.TLS = readTLS(b, t)
	if t.Kind == Embedded {
		t.Listen, t.Procs, t.BusyPoll, t.TLS = "", 0, false, false
	}
	readRaft(b, &t)
	t.Hosts = readHosts(b, &t)
	t.DefaultSettings = readDefaultSettings(b, t.Kind)
	t.SyncInterval = readSyncInterval(b, t.Durability)
	if t.Kind != Embedded && !t.DefaultSettings {
		t.Settings = readServerSettings(b, t, check)
	}
	if t.Kind != Embedded {
		t.Build = readServerBuild(b)
	}
	return t
}

// refuseAttributes notes a problem for each attribute that a kind of topology does not have.
func refuseAttributes(b *hclfile.Block, why string, attributes ...string) {
	for _, name := range attributes {
		if b.Has(name) {
			b.AttrProblem(name, fmt.Sprintf("%s has no meaning here: %s", name, why), "remove it")
		}
	}
}

// shardsMax is how many shards one server process takes.
const shardsMax = 32

// readShards reads shards, which is what tells the kinds of one process apart.
func readShards(b *hclfile.Block, kind string) int {
	switch kind {
	case "sharded":
		return b.Int("shards", hclfile.IntSpec{Min: 1, Max: shardsMax, Required: true})
	case Raft, Embedded:
		return b.Int("shards", hclfile.IntSpec{Min: 1, Max: shardsMax, Default: 1})
	}
	return b.Int("shards", hclfile.IntSpec{
		Min: 1, Max: 1, Default: 1, Why: `for more than one, write topology "sharded"`,
	})
}

// readRaft reads what only a cluster has, and refuses what it does not have.
func readRaft(b *hclfile.Block, t *Topology) {
	swept := b.Has(kindAttribute)
	if swept && b.Has("nodes") {
		b.AttrProblem("nodes", "nodes is given where the sweep of topology.kind says how many there are", "remove it")
	}
	if t.Kind == "" {
		return // which kind it should be is not known
	}
	if t.Kind != Raft {
		for _, attribute := range []string{"nodes", "coalesce"} {
			if b.Has(attribute) && (!swept || attribute != "nodes") {
				b.AttrProblem(attribute, attribute+` has a meaning only in topology "raft"`, "remove it")
			}
		}
		return
	}
	t.Coalesce = new(!b.Has("coalesce") || b.Bool("coalesce"))
	if t.Listen == "unix" {
		b.AttrProblem("listen", `the nodes of topology "raft" tell clients where the others are, which a Unix socket is not for`, `write listen = "tcp"`)
	}
	if !swept {
		t.Nodes = b.Int("nodes", hclfile.IntSpec{Min: 1, Max: NodesMax, Default: nodesDefault})
	}
}

// readDefaultSettings reads default_settings, beside which nothing that would be a setting of the
// server may be written but durability, which is checked and not set.
func readDefaultSettings(b *hclfile.Block, kind string) bool {
	if !b.Bool("default_settings") {
		return false
	}
	if kind != "" && kind != Single {
		b.AttrProblem("default_settings", fmt.Sprintf("default_settings has a meaning only in topology %q: others have settings", Single), "remove it")
	}
	refuseAttributes(b, "default_settings gives the server no setting", "sync_interval", "procs", "busy_poll", "tls", "listen")
	refuseServerSettings(b, "default_settings gives the server no setting")
	return true
}

// readTLS reads tls, which an embedded server cannot have and a Unix socket is not encrypted with.
// The server polls no connection with TLS.
func readTLS(b *hclfile.Block, t Topology) bool {
	if !b.Bool("tls") || t.Kind == Embedded {
		return false
	}
	if t.Listen == "unix" {
		b.AttrProblem("tls", `tls is true where listen = "unix": a Unix socket is not encrypted`, `write listen = "tcp", or remove tls`)
	}
	if t.BusyPoll {
		b.AttrProblem("tls", "tls is true where busy_poll is true: connections with TLS are not polled", "remove one of the two")
	}
	return true
}

// readBusyPoll reads busy_poll, which does nothing in a process that runs on more than one
// processor.
func readBusyPoll(b *hclfile.Block, procs int) bool {
	poll := b.Bool("busy_poll")
	if poll && procs != 1 {
		b.AttrProblem("busy_poll", "busy_poll has a meaning only with procs = 1", "add procs = 1, or remove it")
	}
	return poll
}
