package scenario

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// Topology defines the servers under test.
type Topology struct {
	// Kind is "single", "sharded", Raft, Remote, Embedded, NoTopology or ByProgram.
	Kind string `json:"kind"`
	// Nodes is the number of servers of "raft", "remote" and "target". It is 0 for the other kinds,
	// which have at most one server.
	Nodes  int `json:"nodes,omitzero"`
	Shards int `json:"shards"` // 0 of NoTopology
	// Durability is "sync", "interval" or "none", or one of Guarantees if Kind is ByProgram.
	Durability   string        `json:"durability"`
	SyncInterval time.Duration `json:"sync_interval"`
	// Listen is "tcp" or "unix", or "" for Embedded, NoTopology and ByProgram.
	Listen string `json:"listen"`
	Procs  int    `json:"procs,omitzero"` // GOMAXPROCS of each server; 0: not set
	// BusyPoll makes the server's gRPC connections poll before their thread sleeps.
	BusyPoll bool `json:"busy_poll,omitzero"`
	// TLS makes the servers' listeners for clients serve TLS, with a certificate that is created at
	// each start of the topology.
	TLS bool `json:"tls,omitzero"`
	// Coalesce lets commands share entries of the Raft log. It is nil unless Kind is Raft.
	Coalesce *bool `json:"coalesce,omitempty"`
	// Hosts is the network between the nodes of "raft". nil means that all nodes are on this host.
	Hosts *Hosts `json:"hosts,omitempty"`
	// DefaultSettings starts the server with only its addresses and its data folder set. The
	// server's default durability must then equal Durability.
	DefaultSettings bool `json:"default_settings,omitzero"`
	// Remote has the locations of the servers; nil unless Kind is Remote.
	Remote *RemoteServers `json:"remote,omitempty"`
	// Target defines the servers that a driver program launches; nil unless Kind is ByProgram.
	Target *TargetServers `json:"target,omitempty"`
	// Settings are further settings of the servers, by the server's names, such as
	// "storage.memtable_size". The values are text in the syntax of the server's flags.
	Settings map[string]string `json:"settings,omitempty"`
	// Build defines how the server is built; nil means that an existing binary is used.
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

// topologyPath begins the paths of the settings of the topology.
const topologyPath = "topology."

var topologyBlock = hclfile.Inner{
	Names: hclfile.Names{Attributes: topologyTable.names(), Blocks: []string{"hosts", "node", "settings", "build"}},
	Label: "kind", Example: `topology "single" { durability = "none" }`, Required: true, Once: true,
}

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
		refuseServerSettings(b, "servers on other hosts have their own settings")
		refuseServerBuild(b, "servers on other hosts run an existing binary")
		return readRemote(b, t)
	case NoTopology:
		refuseAttributes(b, "there is no server", topologyBlock.Names.Attributes...)
		refuseServerSettings(b, "there is no server")
		refuseServerBuild(b, "there is no server")
		t.Hosts = readHosts(b, &t)
		t.Durability = "none" // there is no storage
		return t
	case Embedded:
		refuseAttributes(b, "the server runs in the generator's process", "listen", "procs", "busy_poll", "tls")
		refuseServerSettings(b, "the server runs in the generator's process, which has no server settings")
		refuseServerBuild(b, "the server runs in the generator's process, which is already built")
	}
	refuseRemote(b)
	topologyTable.read(b, &t)
	checkTLS(b, &t)
	if t.Kind == Embedded {
		t.Listen, t.Procs, t.BusyPoll, t.TLS = "", 0, false, false
	}
	checkRaft(b, &t)
	t.Hosts = readHosts(b, &t)
	if t.Kind != Embedded && !t.DefaultSettings {
		t.Settings = readServerSettings(b, t, check)
	}
	if t.Kind != Embedded {
		t.Build = readServerBuild(b)
	}
	return t
}

// refuseAttributes notes a problem for each of the attributes that is set. why is the reason that
// the topology does not support them.
func refuseAttributes(b *hclfile.Block, why string, attributes ...string) {
	for _, name := range attributes {
		if b.Has(name) {
			b.AttrProblem(name, fmt.Sprintf("%s is not valid here: %s", name, why), "remove it")
		}
	}
}

// shardsMax is the largest number of shards of one server process.
const shardsMax = 32

// readShards reads shards, which distinguishes "single" from "sharded".
func readShards(b *hclfile.Block, kind string) int {
	switch kind {
	case "sharded":
		return b.Int("shards", hclfile.IntSpec{Min: 1, Max: shardsMax, Required: true})
	case Raft, Embedded, Remote:
		return b.Int("shards", hclfile.IntSpec{Min: 1, Max: shardsMax, Default: 1})
	}
	return b.Int("shards", hclfile.IntSpec{
		Min: 1, Max: 1, Default: 1, Why: `for more than one, write topology "sharded"`,
	})
}

var nodesSpec = hclfile.IntSpec{Min: 1, Max: NodesMax, Default: nodesDefault}

func readNodes(b *hclfile.Block, t *Topology) {
	swept := b.Has(kindAttribute)
	if swept && b.Has("nodes") {
		b.AttrProblem("nodes", "nodes is set, but the sweep of topology.kind defines the number of nodes", "remove it")
	}
	if t.Kind == Raft && !swept {
		t.Nodes = b.Int("nodes", nodesSpec)
	}
}

// checkRaft refuses attributes that only topology "raft" supports, and those that it does not
// support.
func checkRaft(b *hclfile.Block, t *Topology) {
	if t.Kind == Raft && t.Listen == "unix" {
		b.AttrProblem("listen", `the nodes of topology "raft" send clients the addresses of other nodes, which must be TCP addresses`, `write listen = "tcp"`)
	}
	for _, attribute := range []string{"nodes", "coalesce"} {
		if t.Kind != Raft && t.Kind != "" && b.Has(attribute) && (!b.Has(kindAttribute) || attribute != "nodes") {
			b.AttrProblem(attribute, attribute+` is valid only in topology "raft"`, "remove it")
		}
	}
}

// readDefaultSettings reads default_settings, which cannot be combined with any setting of the
// server except durability. Durability is then only compared with the server's default.
func readDefaultSettings(b *hclfile.Block, kind string) bool {
	if !b.Bool("default_settings") {
		return false
	}
	if kind != "" && kind != Single {
		b.AttrProblem("default_settings", fmt.Sprintf("default_settings is valid only in topology %q", Single), "remove it")
	}
	refuseAttributes(b, "default_settings starts the server without settings", "sync_interval", "procs", "busy_poll", "tls", "listen")
	refuseServerSettings(b, "default_settings starts the server without settings")
	return true
}

// checkTLS checks tls. TLS is not possible with an embedded server, a Unix socket or busy_poll.
func checkTLS(b *hclfile.Block, t *Topology) {
	if !t.TLS || t.Kind == Embedded {
		return
	}
	if t.Listen == "unix" {
		b.AttrProblem("tls", `tls cannot be combined with listen = "unix": a Unix socket is not encrypted`, `write listen = "tcp", or remove tls`)
	}
	if t.BusyPoll {
		b.AttrProblem("tls", "tls cannot be combined with busy_poll: the server does not poll connections with TLS", "remove one of the two")
	}
}

// readBusyPoll reads busy_poll, which has no effect in a process with more than one processor.
func readBusyPoll(b *hclfile.Block, procs int) bool {
	poll := b.Bool("busy_poll")
	if poll && procs != 1 {
		b.AttrProblem("busy_poll", "busy_poll is valid only with procs = 1", "add procs = 1, or remove it")
	}
	return poll
}
