package scenario

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// topologyTable has the attributes of a topology. Those that others depend on come first.
var topologyTable = slices.Concat(clusterTable, serverTable, remoteTable, topologyBlocks)

// clusterTable has the attributes of a topology that pages show before the driver.
var clusterTable = table[Topology]{
	integer(func(t *Topology) *int { return &t.Nodes }, nodesSpec, attribute[Topology]{
		name: "nodes", label: "nodes", doc: "{}; only with `\"raft\"`", read: readNodes,
	}),
	{
		name: "shards", label: "shards", shownDefault: "1; required for `\"sharded\"`, unless it is swept",
		doc:   fmt.Sprintf("1 for `\"single\"`; 1 to %d for the others", shardsMax),
		read:  func(b *hclfile.Block, t *Topology) { t.Shards = readShards(b, t.Kind) },
		value: func(t *Topology) string { return strconv.Itoa(t.Shards) },
	},
	choice(func(t *Topology) *string { return &t.Durability }, hclfile.ChoiceSpec{OneOf: []string{"sync", "interval", "none"}, Required: true}, attribute[Topology]{
		name: "durability", label: "durability", shownDefault: "required, because every figure depends on it",
		doc: "when the server acknowledges: `\"sync\"` (after fsync), `\"interval\"` (fsync every `sync_interval`), `\"none\"` (after the write reached the operating system)",
		words: func(t *Topology) string {
			return "durability " + t.Durability + unless(t.SyncInterval <= 0, " of %s", hclfile.FormatDuration(t.SyncInterval))
		},
	}),
	durationAttr(func(t *Topology) *time.Duration { return &t.SyncInterval }, syncIntervalSpec, attribute[Topology]{
		name: "sync_interval", doc: "{}; only with `\"interval\"`",
		read: func(b *hclfile.Block, t *Topology) { t.SyncInterval = readSyncInterval(b, t.Durability) },
	}),
	choice(func(t *Topology) *string { return &t.Listen }, hclfile.ChoiceSpec{OneOf: []string{"tcp", "unix"}, Default: "tcp"}, attribute[Topology]{
		name: "listen", label: "listen", doc: "`\"tcp\"` or `\"unix\"` (a socket file); only `\"tcp\"` with `\"raft\"`",
		words: func(t *Topology) string { return t.Listen },
	}),
}

// serverTable has the attributes of a topology that pages show after the driver.
var serverTable = table[Topology]{
	{
		name: "coalesce", shownDefault: "`true`",
		doc: "`false`: each command is a separate entry of the Raft log. `true`: all waiting commands share one entry. Only with `\"raft\"`",
		read: func(b *hclfile.Block, t *Topology) {
			if t.Kind == Raft {
				t.Coalesce = new(!b.Has("coalesce") || b.Bool("coalesce"))
			}
		},
		rows: func(t *Topology) []Row {
			if t.Coalesce == nil {
				return nil
			}
			return []Row{{"commands share Raft entries", "coalesce", strconv.FormatBool(*t.Coalesce)}}
		},
	},
	integer(func(t *Topology) *int { return &t.Procs }, hclfile.IntSpec{Min: 1, Max: ProcsMax}, attribute[Topology]{
		name: "procs", label: "server GOMAXPROCS", doc: "{}: GOMAXPROCS of the server, or of each node", shownDefault: "the Go runtime's default",
		words: func(t *Topology) string { return unless(t.Procs <= 0, "GOMAXPROCS %d", t.Procs) },
	}),
	boolean(func(t *Topology) *bool { return &t.DefaultSettings }, attribute[Topology]{
		name:  "default_settings",
		doc:   "{}: the server gets its addresses and its data folder and no other setting; only with `\"single\"`. `durability` is then only checked: a server whose default differs, or that has a setting from another source, does not start",
		read:  func(b *hclfile.Block, t *Topology) { t.DefaultSettings = readDefaultSettings(b, t.Kind) },
		words: func(t *Topology) string { return unless(!t.DefaultSettings, "default settings only") },
	}),
	boolean(func(t *Topology) *bool { return &t.TLS }, attribute[Topology]{
		name:  "tls",
		doc:   "{}: clients use TLS 1.3 for gRPC and REST, and the harness for its reads at the admin listener. Each start of a topology creates a new certificate authority and certificate next to the servers' data, which are removed with it; the generator trusts no other authority. Connections between nodes do not change. Not with `listen = \"unix\"` or `busy_poll`",
		words: func(t *Topology) string { return unless(!t.TLS, "TLS") },
	}),
	boolean(func(t *Topology) *bool { return &t.BusyPoll }, attribute[Topology]{
		name:  "busy_poll",
		doc:   "{}: the server's gRPC connections poll for a moment before their thread sleeps (`queued serve --busy-poll`); only with `procs = 1`",
		read:  func(b *hclfile.Block, t *Topology) { t.BusyPoll = readBusyPoll(b, t.Procs) },
		words: func(t *Topology) string { return unless(!t.BusyPoll, "busy polling") },
	}),
}

// remoteTable has the attributes of a topology of servers that already run on other hosts, which
// readRemote reads.
var remoteTable = table[Topology]{
	{name: "token_file", shownDefault: "none", doc: "the path of a file with an operator's token; see [servers on other hosts](#servers-on-other-hosts)"},
	{name: "ca", shownDefault: "none", doc: "the path of a PEM file with the only authority that may have issued the certificates of these servers"},
	{name: "tls_name", shownDefault: "the host of each address", doc: "the name in these certificates; with `ca`"},
}

// topologyBlocks has the blocks in a topology, which the reference lists with the attributes.
var topologyBlocks = table[Topology]{
	{
		name: "hosts", block: true, shownDefault: "none: all nodes are on this host",
		doc: "a block: each node is on a separate host; see [below](#hosts). Only with `\"raft\"` and at least two nodes",
	},
	{
		name: "settings", block: true, shownDefault: "none: the server has its defaults",
		doc: "a block: any other setting of the server; see [below](#settings). With `\"single\"`, `\"sharded\"` and `\"raft\"`",
	},
	{
		name: "build", block: true, shownDefault: "none: the run uses an existing program, such as `bin/queued`",
		doc: "a block: how the server is built from the source tree; see [below](#build). With `\"single\"`, `\"sharded\"` and `\"raft\"`",
	},
}

// ClusterRows returns the rows of pages about the servers that come before the driver, and
// ServerRows those that come after it.
func (t *Topology) ClusterRows() []Row { return clusterTable.rows(t, topologyPath) }

// ServerRows is documented at ClusterRows.
func (t *Topology) ServerRows() []Row {
	rows := serverTable.rows(t, topologyPath)
	for _, name := range slices.Sorted(maps.Keys(t.Settings)) {
		rows = append(rows, Row{"server's " + name, topologyPath + settingsPrefix + name, t.Settings[name]})
	}
	if t.Build != nil {
		rows = append(rows, buildTable.rows(t.Build, topologyPath+"build.")...)
	}
	if t.Hosts != nil {
		rows = append(rows, hostsTable.rows(t.Hosts, topologyPath+"hosts.")...)
	}
	return rows
}

// Words returns, for `prony explain`, the attributes of the servers.
func (t *Topology) Words() []string { return topologyTable.words(t) }
