package topology

import (
	"path/filepath"
	"strconv"
	"strings"
)

// arguments returns the server's command line after its name. The ports of a server that stands alone are the system's
// to choose.
func (s *Server) arguments() []string {
	t := s.cluster.config.Topology
	listen, http, admin := "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	switch {
	case s.place.socket != "":
		listen = "unix:" + s.place.socket
	case s.ID != "":
		listen, http, admin = s.ports.listen.address, s.ports.http.address, s.ports.admin.address
	}
	args := []string{
		"serve",
		"--data", s.place.data,
		"--listen", listen,
		"--http", http,
		"--admin", admin,
	}
	if !t.DefaultSettings {
		args = append(args, "--durability", t.Durability)
	}
	if t.Kind != "single" {
		args = append(args, "--shards", strconv.Itoa(t.Shards))
	}
	if t.SyncInterval > 0 {
		args = append(args, "--sync-interval", t.SyncInterval.String())
	}
	if t.BusyPoll {
		args = append(args, "--busy-poll")
	}
	if dir := s.cluster.tls; dir != "" {
		args = append(args, "--tls-cert", filepath.Join(dir, certFile), "--tls-key", filepath.Join(dir, keyFile))
	} else if s.namespace != nil {
		args = append(args, "--insecure") // no other host than those of this run reaches it
	}
	if s.ID != "" {
		args = append(args, s.clusterArguments()...)
	}
	return append(args, "--address-file", s.place.addressFile)
}

// clusterArguments say who the other nodes are and where this one reaches them. The first start of all makes them the
// initial members; a node whose data was wiped asks the others to take it in again.
func (s *Server) clusterArguments() []string {
	var peers, others []string
	for _, to := range s.cluster.servers {
		address := s.peers[to.ID]
		peers = append(peers, to.ID+"="+address)
		if to != s {
			others = append(others, address)
		}
	}
	args := []string{
		"--cluster-node", s.ID,
		"--cluster-listen", s.PeerAddress,
		"--cluster-peers", strings.Join(peers, ","),
		"--cluster-certs", filepath.Join(s.cluster.certs, s.ID),
	}
	if s.wiped && len(others) > 0 {
		args = append(args, "--cluster-join", strings.Join(others, ","))
	}
	if c := s.cluster.config.Topology.Coalesce; c != nil && !*c {
		args = append(args, "--cluster-coalesce=false")
	}
	return args
}
