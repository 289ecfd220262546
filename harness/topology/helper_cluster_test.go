package topology

import (
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

// membership is what the helper knows of the cluster that it acts a node of.
type membership struct {
	flags                               *flag.FlagSet
	node, listen, peers, join, secretAt string
	coalesce                            bool
}

func (m *membership) define() {
	m.flags.StringVar(&m.node, "cluster-node", "", "")
	m.flags.StringVar(&m.listen, "cluster-listen", "", "")
	m.flags.StringVar(&m.peers, "cluster-peers", "", "")
	m.flags.StringVar(&m.join, "cluster-join", "", "")
	m.flags.StringVar(&m.secretAt, "cluster-secret", "", "")
	m.flags.BoolVar(&m.coalesce, "cluster-coalesce", true, "")
}

// check ends the process unless it was told all that a node must know, and says what it was told.
func (m *membership) check() {
	if m.node == "" {
		return
	}
	secret, err := os.ReadFile(m.secretAt)
	if err != nil || len(secret) < 32 {
		die(1, "the cluster's secret: %d bytes, %v", len(secret), err)
	}
	fmt.Fprintf(os.Stderr, "node=%s listen=%s peers=%s join=%s coalesce=%t\n", m.node, m.listen, m.peers, m.join, m.coalesce)
}

// serve answers GET /v1/routes: n1 leads the even shards, the second node the odd ones. Before it knows, which it does
// the third time it is asked, and always in the mode "leaderless", nobody leads.
func (m *membership) serve(mode, address string, shards int) {
	peer, err := net.Listen("tcp", m.listen)
	if err != nil {
		die(1, "%v", err)
	}
	go func() { // whoever connects is told who it is
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
		asked++ // the harness asks one after the other
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
				leader = "n2" // n1 has not heard of it
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
