package scenario

import (
	"fmt"
	"net"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// Remote is the kind of a topology with servers on other hosts. Either they already run, or Prony
// starts them by SSH.
const Remote = "remote"

// RemoteServers has the locations and credentials of the servers of topology "remote".
type RemoteServers struct {
	Nodes []RemoteNode `json:"nodes"` // 1 to NodesMax; all of them are started by SSH, or none
	// TokenFile is the path of the access token for attached servers; "" if they need none.
	TokenFile string `json:"token_file,omitempty"`
	// CAFile is the path of the certificate of the only trusted authority for attached servers; ""
	// if they do not use TLS.
	CAFile string `json:"ca,omitempty"`
	// TLSName is the name that the certificates must have; "" means the host of each address.
	TLSName string `json:"tls_name,omitempty"`
}

// RemoteNode is one server of topology "remote".
type RemoteNode struct {
	Name    string `json:"name"` // in a cluster, the node's ID
	Address string `json:"address"`
	HTTP    string `json:"http,omitempty"` // "" if the server has no REST API
	Admin   string `json:"admin"`
	// Peer is the address at which the node listens for other nodes. Only nodes of a cluster that
	// Prony starts have one.
	Peer string `json:"peer,omitempty"`
	// SSH is the destination, in the syntax of ssh, on which Prony starts the server; "" if the
	// server already runs.
	SSH string `json:"ssh,omitempty"`
	// Dir is the folder on that host for the program and the data.
	Dir string `json:"dir,omitempty"`
}

// Attached reports whether the servers already run, so that Prony neither starts nor ends them.
func (t Topology) Attached() bool {
	return t.Remote != nil && len(t.Remote.Nodes) > 0 && t.Remote.Nodes[0].SSH == ""
}

// Clustered reports whether the servers are nodes of a cluster.
func (t Topology) Clustered() bool { return t.Kind == Raft || t.Kind == Remote && t.Nodes > 1 }

// NodeNames returns the names of the nodes of a cluster, or nil if the topology is not a cluster.
func (t Topology) NodeNames() (names []string) {
	switch {
	case t.Kind == Remote && t.Remote != nil && t.Clustered():
		for _, n := range t.Remote.Nodes {
			names = append(names, n.Name)
		}
	case t.Kind == Raft:
		for i := range t.Nodes {
			names = append(names, NodeName(i))
		}
	}
	return names
}

var remoteNodeBlock = hclfile.Inner{
	Names: hclfile.Names{Attributes: []string{"address", "http", "admin", "peer", "ssh", "dir"}},
	Label: "name", Example: `node "n1" { address = "10.0.0.1:7070"  admin = "10.0.0.1:7071" }`, Required: true,
}

// refuseRemote notes a problem for each attribute and block that only topology "remote" supports.
func refuseRemote(b *hclfile.Block) {
	const why = `only the servers of topology "remote" run on other hosts`
	refuseAttributes(b, why, remoteTable.names()...)
	if b.HasBlock("node") {
		b.Problem("node is not valid here: "+why, `write topology "remote", or remove it`)
	}
}

// readRemote reads topology "remote" { node "NAME" { address http admin peer ssh dir } token_file
// ca tls_name ... }.
func readRemote(b *hclfile.Block, t Topology) Topology {
	refuseAttributes(b, "each node has a separate block", "nodes")
	refuseAttributes(b, "the nodes have addresses", "listen")
	refuseAttributes(b, "servers on other hosts always have settings", "default_settings")
	refuseAttributes(b, `only topology "raft" supports it`, "coalesce")
	t.Listen = "tcp"
	topologyTable.read(b, &t, "durability", "shards")
	t.Remote = &RemoteServers{}
	blocks := b.Blocks("node", remoteNodeBlock)
	for _, n := range blocks {
		t.Remote.Nodes = append(t.Remote.Nodes, readRemoteNode(n, t.Remote.Nodes))
	}
	t.Nodes = len(t.Remote.Nodes)
	if t.Nodes > NodesMax {
		blocks[NodesMax].Problem(fmt.Sprintf("there are %d nodes; the maximum is %d", t.Nodes, NodesMax), "remove some")
	}
	if t.Nodes == 0 {
		return t
	}
	checkRemoteNodes(blocks, t.Remote.Nodes)
	if t.Attached() {
		refuseAttributes(b, "a server that already runs has its settings", "procs", "busy_poll", "sync_interval")
		refuseAttributes(b, "a server that already runs has a certificate, whose authority is ca", "tls")
		const most = 500
		t.Remote.TokenFile = b.Path("token_file", hclfile.TextSpec{MaxBytes: most, Example: "/etc/prony/token"})
		t.Remote.CAFile = b.Path("ca", hclfile.TextSpec{MaxBytes: most, Example: "/etc/prony/ca.crt"})
		t.Remote.TLSName = b.Text("tls_name", hclfile.TextSpec{MaxBytes: most, Example: "queue.example.org"})
		if t.Remote.TLSName != "" && t.Remote.CAFile == "" {
			b.AttrProblem("tls_name", "tls_name is valid only with ca", "add ca, or remove it")
		}
		t.TLS = t.Remote.CAFile != ""
		return t
	}
	refuseAttributes(b, "Prony creates tokens and certificates for servers that it starts", remoteTable.names()...)
	topologyTable.read(b, &t, "procs", "busy_poll", "tls", "sync_interval")
	checkTLS(b, &t)
	return t
}

func readRemoteNode(b *hclfile.Block, before []RemoteNode) RemoteNode {
	n := RemoteNode{Name: readName(b)}
	if n.Name != "" && slices.ContainsFunc(before, func(o RemoteNode) bool { return o.Name == n.Name }) {
		b.LabelProblem(fmt.Sprintf("node %q is defined twice", n.Name), "rename one of the two")
	}
	taken := map[string]string{}
	for _, o := range before {
		for _, address := range []string{o.Address, o.HTTP, o.Admin, o.Peer} {
			taken[address] = o.Name
		}
	}
	for _, a := range []struct {
		name     string
		required bool
		into     *string
	}{{"address", true, &n.Address}, {"http", false, &n.HTTP}, {"admin", true, &n.Admin}, {"peer", false, &n.Peer}} {
		text := b.Text(a.name, hclfile.TextSpec{MaxBytes: 300, Required: a.required, Example: "10.0.0.1:7070"})
		if text == "" {
			continue
		}
		if !isAddress(text) {
			b.AttrProblem(a.name, fmt.Sprintf("%s is %.80q, which is not a host and a port", a.name, text), `write it as in "10.0.0.1:7070"`)
			continue
		}
		if other, is := taken[text]; is {
			b.AttrProblem(a.name, fmt.Sprintf("%s is %q, which is also an address of node %q", a.name, text, other), "each listener needs a distinct address")
		}
		taken[text] = n.Name
		*a.into = text
	}
	n.SSH = b.Text("ssh", hclfile.TextSpec{MaxBytes: 300, Example: "user@host"})
	if strings.HasPrefix(n.SSH, "-") || strings.ContainsAny(n.SSH, " \t'\"") {
		b.AttrProblem("ssh", fmt.Sprintf("ssh is %.80q, which is not a host", n.SSH), `write "host", "user@host" or "ssh://user@host:port"`)
	}
	n.Dir = b.Text("dir", hclfile.TextSpec{MaxBytes: 300, Example: "/var/lib/prony"})
	if n.Dir != "" && (!path.IsAbs(n.Dir) || path.Clean(n.Dir) != n.Dir || n.Dir == "/" || strings.ContainsFunc(n.Dir, isNotPlain)) {
		b.AttrProblem("dir", fmt.Sprintf("dir is %.80q, which is not a plain absolute path", n.Dir), "write a path such as /var/lib/prony, of letters, digits and the characters . _ - /")
	}
	return n
}

// isNotPlain reports whether a shell may interpret a character.
func isNotPlain(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._-/", r)
}

// isAddress reports whether text is "host:port" and not obviously unreachable from other hosts: the
// port is not 0 and the host is not an unspecified address.
func isAddress(text string) bool {
	host, port, err := net.SplitHostPort(text)
	if err != nil || host == "" || strings.ContainsFunc(host, func(r rune) bool { return isNotPlain(r) && r != ':' && r != '%' }) {
		return false
	}
	n, err := strconv.ParseUint(port, 10, 16)
	ip := net.ParseIP(host)
	return err == nil && n > 0 && (ip == nil || !ip.IsUnspecified())
}

func isLoopback(address string) bool {
	host, _, _ := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// checkRemoteNodes checks the attributes of the nodes that depend on each other.
func checkRemoteNodes(blocks []*hclfile.Block, nodes []RemoteNode) {
	started := nodes[0].SSH != ""
	for i, n := range nodes {
		b := blocks[i]
		switch {
		case (n.SSH != "") != started:
			b.Problem(fmt.Sprintf("%s and %s differ: only one of them has ssh", blocks[0], b), "start all nodes by SSH, or none")
			return
		case started && n.Dir == "":
			b.Problem(b.String()+" has no dir: the server needs a folder on its host", `add dir = "/var/lib/prony"`)
		case !started && n.Dir != "":
			b.AttrProblem("dir", "dir is valid only with ssh", "add ssh, or remove it")
		}
		peers := started && len(nodes) > 1
		switch {
		case peers && n.Peer == "":
			b.Problem(b.String()+" has no peer: the nodes of a cluster reach each other there", `add peer = "10.0.0.1:7072"`)
		case !peers && n.Peer != "":
			b.AttrProblem("peer", "peer is valid only if several nodes are started by SSH", "remove it")
		}
		if len(nodes) > 1 && n.HTTP == "" && !b.Has("http") {
			b.Problem(b.String()+" has no http: the nodes of a cluster report their leader there", `add http = "10.0.0.1:7080"`)
		}
	}
}

func checkRemote(b *hclfile.Block, s *Scenario) {
	t := s.Topology
	if t.Kind != Remote {
		return
	}
	for _, part := range []struct{ block, why string }{
		{"backlog", "the peak of their memory can't be read there"},
		{"series", "their memory and disk can't be sampled there"},
	} {
		if b.HasBlock(part.block) {
			b.Problem(fmt.Sprintf("%s has a %s and servers on other hosts: %s", b, part.block, part.why), "remove it, or use another topology")
		}
	}
	if slices.ContainsFunc(s.Invariants, func(i Invariant) bool { return i.Kind == Exclusive }) {
		b.Problem(fmt.Sprintf("%s has the invariant %q and servers on other hosts: leases expire by their clocks, and the harness does not compare clocks of two hosts", b, Exclusive),
			"remove it, or use another topology")
	}
	if b.Has("references") {
		b.AttrProblem("references", "references measure this host, and the servers run on others", "remove it")
	}
	for _, w := range s.Workloads {
		if w.Driver == "rest" && slices.ContainsFunc(t.Remote.Nodes, func(n RemoteNode) bool { return n.HTTP == "" }) {
			b.Problem(fmt.Sprintf(`%s%s has the driver "rest", and a node has no http`, workloadPath, w.Name), "add http to each node, or use another driver")
		}
		if t.Attached() && w.ReadsTasks() {
			b.Problem(fmt.Sprintf("%s%s has reads, whose access tokens would stay on servers that Prony does not start", workloadPath, w.Name), "remove reads, or start the nodes by SSH")
		}
	}
	open := !t.TLS && slices.ContainsFunc(t.Remote.Nodes, func(n RemoteNode) bool { return !isLoopback(n.Address) || !isLoopback(n.Admin) })
	if open && t.Remote.TokenFile != "" {
		b.Problem("topology.token_file contains a token that would be sent to other hosts unencrypted", "add ca, and start the servers with a certificate")
	}
	if open && !t.Attached() && Any(s.Workloads, func(w Workload) bool { return w.Driver == DriverK6 }) {
		b.Problem(`the driver "k6" sends no access token to other hosts unencrypted`, "add tls = true to the topology")
	}
	if t.Attached() && b.HasBlock("attack") {
		b.Problem(b.String()+" has an attack, whose tasks would stay on servers that Prony does not start", "remove it, or start the nodes by SSH")
	}
}

func checkRemoteFaults(b *hclfile.Block, f Fault, t Topology) {
	switch {
	case t.Kind != Remote:
	case f.OfLinks():
		b.Problem(fmt.Sprintf("%s is a fault of links, and the harness does not control links between other hosts", b), `remove it, or write topology "raft"`)
	case t.Attached():
		b.Problem(fmt.Sprintf("%s needs servers that Prony starts, but these already run", b), "add ssh, dir and peer to each node, or remove the fault")
	}
}

var syncIntervalSpec = hclfile.DurationSpec{Min: time.Millisecond, Max: 10 * time.Second, Default: 10 * time.Millisecond}

func readSyncInterval(b *hclfile.Block, durability string) time.Duration {
	interval := b.Duration("sync_interval", syncIntervalSpec)
	switch {
	case durability == "interval":
		return interval
	case durability != "" && b.Has("sync_interval"):
		b.AttrProblem("sync_interval", `sync_interval is valid only with durability = "interval"`,
			`remove it, or write durability = "interval"`)
	}
	return 0
}
