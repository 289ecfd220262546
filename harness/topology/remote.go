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

// remote contains what a Server needs for a server on another host, instead of local folders, ports
// and processes.
type remote struct {
	at    scenario.RemoteNode
	shell sshclient.Host // "" for an attached server
	// folder is a folder on the host that is created for this topology. It is "" until it is
	// created, and for an attached server.
	folder string
	binary string // path on the host
	host   result.ServerHost
}

func checkRemote(t scenario.Topology) error {
	switch {
	case t.Remote == nil || len(t.Remote.Nodes) == 0 || len(t.Remote.Nodes) > scenario.NodesMax:
		return fmt.Errorf("topology %q names no nodes, or more than %d", t.Kind, scenario.NodesMax)
	case t.Shards < 1:
		return fmt.Errorf("%d shards; there must be at least 1", t.Shards)
	case t.Nodes != len(t.Remote.Nodes):
		return fmt.Errorf("%d nodes, but %d are named", t.Nodes, len(t.Remote.Nodes))
	}
	return nil
}

// newRemote adds the servers of topology "remote". For servers that the harness starts, it also
// creates a folder on each host and copies the program there.
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

func (c *Cluster) readAccess() (err error) {
	where := c.config.Topology.Remote
	if path := where.TokenFile; path != "" {
		if c.Token, err = readToken(path); err != nil {
			return fmt.Errorf("read topology.token_file: %w", err)
		}
	}
	if path := where.CAFile; path != "" {
		pem, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("read topology.ca: %w", err)
		}
		c.CA = clienttls.CA{PEM: string(pem), Name: where.TLSName}
		if _, err := c.CA.Config(); err != nil {
			return fmt.Errorf("topology.ca is %s: %w", path, err)
		}
	}
	return nil
}

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

// overSSH is a server process that is controlled through an SSH session.
type overSSH struct{ *sshclient.Session }

// CPU returns 0, because the CPU time of the process is not known after its end.
func (overSSH) CPU() time.Duration { return 0 }

// Hosts returns descriptions of the hosts of servers on other hosts. The servers must be ready.
// Hosts returns nil if all servers are on this host.
func (c *Cluster) Hosts() (hosts []result.ServerHost) {
	for _, s := range c.servers {
		if s.remote != nil {
			hosts = append(hosts, s.remote.host)
		}
	}
	return hosts
}

// Attached reports whether the servers were running before the topology was started. Such servers
// continue to run after Stop.
func (c *Cluster) Attached() bool { return c.config.Topology.Attached() }
