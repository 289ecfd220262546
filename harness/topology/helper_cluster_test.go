package topology

import (
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// membership is the helper's configuration as a node of a cluster.
type membership struct {
	flags                            *flag.FlagSet
	node, listen, peers, join, certs string
	coalesce                         bool
}

func (m *membership) define() {
	m.flags.StringVar(&m.node, "cluster-node", "", "")
	m.flags.StringVar(&m.listen, "cluster-listen", "", "")
	m.flags.StringVar(&m.peers, "cluster-peers", "", "")
	m.flags.StringVar(&m.join, "cluster-join", "", "")
	m.flags.StringVar(&m.certs, "cluster-certs", "", "")
	m.flags.BoolVar(&m.coalesce, "cluster-coalesce", true, "")
}

// makeCertificates acts as 'queued cluster init --nodes NODE=ADDRESS,... --out DIR'. A certificate
// contains its node's name.
func makeCertificates(args []string) {
	if len(args) != 4 || args[0] != "--nodes" || args[2] != "--out" {
		die(1, "bad arguments: %q", args)
	}
	for peer := range strings.SplitSeq(args[1], ",") {
		node, _, _ := strings.Cut(peer, "=")
		dir := filepath.Join(args[3], node)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			die(1, "%v", err)
		}
		if err := os.WriteFile(filepath.Join(dir, "tls.crt"), []byte(node), 0o600); err != nil {
			die(1, "%v", err)
		}
	}
}

// check ends the process unless it has all arguments of a node, and prints them.
func (m *membership) check() {
	if m.node == "" {
		return
	}
	if certificate, err := os.ReadFile(filepath.Join(m.certs, "tls.crt")); err != nil || string(certificate) != m.node {
		die(1, "the certificate of node %s: %q, %v", m.node, certificate, err)
	}
	fmt.Fprintf(os.Stderr, "node=%s listen=%s peers=%s join=%s coalesce=%t\n", m.node, m.listen, m.peers, m.join, m.coalesce)
}

// secret returns the content of a node's token file. In the mode "lost lead" n1 wrote its token and
// lost the lead before the token was committed.
func (m *membership) secret(mode string) string {
	switch {
	case mode == "lost lead":
		return map[string]string{"n1": "uncommitted", "n2": "secret"}[m.node]
	case m.node == "n1":
		return "secret"
	}
	return ""
}

// silentFile in the folder of a node's certificate makes the node leave one request for the routes
// without an answer.
const silentFile = "silent"

// serve answers GET /v1/routes: n1 leads the even shards, the second node the odd ones. Before the
// third request, and always in the mode "leaderless", no shard has a leader.
func (m *membership) serve(mode, address string, shards int) {
	peer, err := net.Listen("tcp", m.listen)
	if err != nil {
		die(1, "%v", err)
	}
	go func() { // answers each connection with the node's name
		for {
			c, err := peer.Accept()
			if err != nil {
				die(1, "%v", err)
			}
			_, _ = io.WriteString(c, m.node)
			_ = c.Close()
		}
	}()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		die(1, "%v", err)
	}
	nodes := strings.Count(m.peers, "=")
	asked := 0
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/routes", func(w http.ResponseWriter, r *http.Request) {
		asked++ // the harness sends one request at a time
		if os.Remove(filepath.Join(m.certs, silentFile)) == nil {
			<-r.Context().Done()
			return
		}
		if r.Header.Get("Authorization") != "Bearer secret" {
			http.Error(w, "who are you", http.StatusUnauthorized)
			return
		}
		var routes []string
		for shard := range shards {
			leader := fmt.Sprintf("n%d", shard%2%nodes+1)
			if asked <= 2 || mode == "leaderless" {
				leader = ""
			}
			if mode == "split" && m.node != "n1" && asked > 2 {
				leader = "n2" // n1 does not know it yet
			}
			routes = append(routes, fmt.Sprintf(`{"shard":%d,"node":%q,"here":%t}`, shard, leader, leader == m.node))
		}
		if mode == "too many shards" {
			routes = append(routes, `{"shard":99}`)
		}
		_, _ = fmt.Fprintf(w, `{"routes":[%s]}`, strings.Join(routes, ","))
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() { die(1, "%v", server.Serve(listener)) }()
}
