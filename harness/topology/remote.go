package topology

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/pronybench/prony/harness/clienttls"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/sshclient"
)

// remote is a server on another host: what it has instead of folders, ports and a process here.
type remote struct {
	at     scenario.RemoteNode
	shell  sshclient.Host // "" of an attached server
	folder string         // on the host, made for this topology; "" before, and of an attached server
	binary string         // on the host
	host   result.ServerHost
}

// checkRemote is check of topology "remote".
func checkRemote(t scenario.Topology) error {
	switch {
	case t.Remote == nil || len(t.Remote.Nodes) == 0 || len(t.Remote.Nodes) > scenario.NodesMax:
		return fmt.Errorf("topology %q names no nodes, or more than %d", t.Kind, scenario.NodesMax)
	case t.Shards < 1:
		return fmt.Errorf("%d shards; there must be at least one", t.Shards)
	case t.Nodes != len(t.Remote.Nodes):
		return fmt.Errorf("%d nodes, and %d of them are named", t.Nodes, len(t.Remote.Nodes))
	}
	return nil
}

// newRemote adds the servers of topology "remote". Those that are to be started get a folder and the program on their hosts.
func (c *Cluster) newRemote(ctx context.Context) error {
	t := c.config.Topology
	for _, at := range t.Remote.Nodes {
		s := &Server{cluster: c, remote: &remote{at: at, shell: sshclient.Host(at.SSH)}, PeerAddress: at.Peer}
		if t.Clustered() {
			s.ID = at.Name
		}
		s.logPath = logOf(c.config.LogPath, s.ID)
		c.servers = append(c.servers, s)
	}
	if t.Attached() {
		return c.readAccess()
	}
	if err := c.connectPeers(); err != nil {
		return err
	}
	program, err := readProgram(c.config.Binary)
	if err != nil {
		return err
	}
	if err := c.certify(ctx, false); err != nil {
		return err
	}
	return c.each(func(s *Server) error {
		if err := s.remote.prepare(ctx, program); err != nil {
			return s.problem("prepare its host: " + err.Error())
		}
		return s.pushCertificates(ctx)
	})
}

// readAccess reads the token and the authority of attached servers.
func (c *Cluster) readAccess() (err error) {
	where := c.config.Topology.Remote
	if path := where.TokenFile; path != "" {
		if c.Token, err = readToken(path); err != nil {
			return fmt.Errorf("read the token of the servers, topology.token_file: %w", err)
		}
	}
	if path := where.CAFile; path != "" {
		pem, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("read the authority of the servers' certificates, topology.ca: %w", err)
		}
		c.CA = clienttls.CA{PEM: string(pem), Name: where.TLSName}
		if _, err := c.CA.Config(); err != nil {
			return fmt.Errorf("topology.ca is %s: %w", path, err)
		}
	}
	return nil
}

// start starts the server's program on its host, or attaches to the one that runs.
func (r *remote) start(s *Server, log *os.File) (*Node, error) {
	n := &Node{Address: r.at.Address, HTTP: r.at.HTTP, Admin: r.at.Admin, Remote: true, Began: time.Now(), server: s, noted: make(chan struct{})}
	if r.shell == "" {
		n.command, n.process = []string{"(attached at " + r.at.Admin + ")"}, newAttached()
		return n, log.Close()
	}
	program := sshclient.Program{Dir: r.folder, Command: append([]string{r.binary}, s.arguments()...), Unset: "QUEUED_"}
	if procs := s.cluster.config.Topology.Procs; procs > 0 {
		program.Env = map[string]string{"GOMAXPROCS": fmt.Sprint(procs)}
	}
	session, err := r.shell.Start(program, log)
	if err = errors.Join(err, log.Close()); err != nil {
		if session != nil {
			err = errors.Join(err, session.Kill())
		}
		return nil, err
	}
	n.command, n.process = append([]string{"ssh", r.at.SSH}, program.Command...), overSSH{session}
	return n, nil
}

// overSSH is a server whose process ssh keeps. Its CPU time is what it says of itself.
type overSSH struct{ *sshclient.Session }

// CPU returns 0: what the process used is not known when it has ended.
func (overSSH) CPU() time.Duration { return 0 }

// Hosts returns what is known of the hosts of servers on other hosts, once they serve; nil of a topology on this host.
func (c *Cluster) Hosts() (hosts []result.ServerHost) {
	for _, s := range c.servers {
		if s.remote != nil {
			hosts = append(hosts, s.remote.host)
		}
	}
	return hosts
}

// Attached reports whether the servers ran before, and go on when the cluster is stopped.
func (c *Cluster) Attached() bool { return c.config.Topology.Attached() }
