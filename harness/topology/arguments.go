package topology

import (
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pronybench/prony/engine/config"
)

// arguments returns the server's command line without the program. A port that is not reserved is
// 0, so that the system chooses it.
func (s *Server) arguments() []string {
	t := s.cluster.config.Topology
	listen, http, admin := "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	data, addressFile := s.place.data, s.place.addressFile
	switch {
	case s.remote != nil:
		listen, http, admin = s.remote.at.Address, s.remote.at.HTTP, s.remote.at.Admin
		data, addressFile = path.Join(s.remote.folder, "data"), s.remote.addressFile()
	case s.ports.admin.address != "":
		listen, http, admin = s.ports.listen.address, s.ports.http.address, s.ports.admin.address
	}
	if s.place.socket != "" {
		listen = "unix:" + s.place.socket
	}
	args := []string{
		"serve",
		"--data", data,
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
	if dir := s.tlsDir(); dir != "" {
		args = append(args, "--tls-cert", filepath.Join(dir, certFile), "--tls-key", filepath.Join(dir, keyFile))
	} else if s.namespace != nil {
		args = append(args, "--insecure") // only hosts of this run can reach the server
	}
	// Listeners on other hosts require TLS unless the scenario disables TLS.
	if s.remote != nil && !t.TLS {
		args = append(args, "--insecure")
	}
	if s.ID != "" {
		args = append(args, s.clusterArguments()...)
	}
	for _, name := range slices.Sorted(maps.Keys(t.Settings)) {
		args = append(args, "--"+(&config.Setting{Path: name}).Flag()+"="+t.Settings[name])
	}
	return append(args, "--address-file", addressFile)
}

// tlsDir returns the folder of the certificate that the server presents to clients. The path is a
// path on the server's host. It is "" without TLS.
func (s *Server) tlsDir() string {
	if s.remote != nil && s.cluster.tls != "" {
		return path.Join(s.remote.folder, "tls")
	}
	return s.cluster.tls
}

// certsDir returns the folder of the certificate that identifies the node to the other nodes. The
// path is a path on the server's host.
func (s *Server) certsDir() string {
	if s.remote != nil {
		return path.Join(s.remote.folder, "certs")
	}
	return filepath.Join(s.cluster.certs, s.ID)
}

// clusterArguments returns the arguments that name the other nodes and their addresses. When all
// nodes are started for the first time, they become the initial members. In contrast, a node whose
// data was wiped joins the other nodes.
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
		"--cluster-certs", s.certsDir(),
	}
	if s.wiped && len(others) > 0 {
		args = append(args, "--cluster-join", strings.Join(others, ","))
	}
	if c := s.cluster.config.Topology.Coalesce; c != nil && !*c {
		args = append(args, "--cluster-coalesce=false")
	}
	return args
}
