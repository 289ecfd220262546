package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/engine/config"
	"github.com/pronybench/prony/engine/internal/nodeid"
	"github.com/pronybench/prony/engine/replica/peer/certs"
)

func (a clusterCommands) initialize() *cobra.Command {
	var nodes, out string
	c := &cobra.Command{
		Use:   "init --nodes NODE=HOST:PORT,... --out DIR",
		Short: "Make the certificates with which nodes identify each other",
		Long: `Makes a certificate authority (CA) in DIR, and for each node a folder DIR/NODE with its certificate, its key and
the CA's certificate, for --cluster-certs of that node. Copy each folder to the host of its node, and keep
DIR/ca.key away from those hosts: its holder can create nodes. HOST:PORT is the node's address for the other nodes;
it is printed as the settings with which to start the nodes.

If DIR has a CA, it signs the certificates: this adds a node, or renews its certificate, which is valid for five
years. A node reads its files again when they change. No server is needed.`,
		Example: `  queued cluster init --nodes n1=10.0.0.1:7073,n2=10.0.0.2:7073,n3=10.0.0.3:7073 --out certs
  queued cluster init --nodes n4=10.0.0.4:7073 --out certs    # another node, or a new certificate for it`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			peers, err := initialPeers(nodes)
			if err == nil && out == "" {
				err = errors.New("--out must name a folder")
			}
			if err != nil {
				return usageError{err}
			}
			ids := make([]string, len(peers))
			for i, p := range peers {
				ids[i] = p.node
			}
			if err := certs.Init(out, ids, time.Now()); err != nil {
				return fmt.Errorf("make certificates: %w", err)
			}
			made := make([]members, len(peers))
			for i, p := range peers {
				made[i] = members{{"node", p.node}, {"peer", p.address}, {"certs", filepath.Join(out, p.node)}}
			}
			return a.print(members{{"ca", filepath.Join(out, certs.CAFile)}, {"nodes", made}}, func(t *table) {
				t.row("NODE", "SETTINGS")
				for _, p := range peers {
					t.row(p.node, fmt.Sprintf("--cluster-node %s --cluster-listen %s --cluster-certs %s", p.node, p.address, filepath.Join(out, p.node)))
				}
			})
		},
	}
	c.Flags().StringVar(&nodes, "nodes", "", "the nodes and their addresses, as for --cluster-peers: NODE=HOST:PORT, separated by commas")
	c.Flags().StringVar(&out, "out", "", "folder for the CA and the nodes' folders")
	needs(c, "nodes", "out")
	return c
}

type initialPeer struct{ node, address string }

func initialPeers(text string) (peers []initialPeer, err error) {
	pairs, err := config.ParsePairs(text)
	if err != nil {
		return nil, fmt.Errorf("--nodes: %q %w", text, err)
	}
	at := map[string]string{}
	for _, p := range pairs {
		if err := nodeid.Check(p.Name); err != nil {
			return nil, fmt.Errorf("--nodes: node %w", err)
		}
		if err := nodeid.CheckAddress(p.Value); err != nil {
			return nil, fmt.Errorf("--nodes: node %s: address %w", p.Name, err)
		}
		if other, taken := at[p.Value]; taken {
			return nil, fmt.Errorf("--nodes: nodes %s and %s have the same address, %s: give each node a different address", other, p.Name, p.Value)
		}
		at[p.Value] = p.Name
		peers = append(peers, initialPeer{p.Name, p.Value})
	}
	return peers, nil
}
