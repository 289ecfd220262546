package doctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"sync"
	"syscall"

	"github.com/pronybench/prony/engine/cluster"
	"github.com/pronybench/prony/engine/replica/peer/certs"
)

// cluster checks a cluster node's certificate, port, peers and clocks. answered is true if a server
// with this configuration is running.
func (r *report) cluster(ctx context.Context, in *Input, answered bool) {
	c := &in.Config.Node
	if !c.Cluster.On() {
		return
	}
	r.clusterCertificates(in.Host, &c.Cluster)
	r.clusterPort(c.Cluster.Listen, answered)
	r.peers(ctx, &c.Cluster)
	if answered && in.ClusterClocks != nil {
		r.clusterClocks(ctx, in)
	}
}

// clusterCertificates checks the certificate that the node presents to its peers.
func (r *report) clusterCertificates(h Host, c *cluster.Config) {
	const check = "cluster certificate"
	own, err := certs.Load(c.CertsDir, c.Node)
	if err != nil {
		r.add(check, Unfit, err.Error(), "--cluster-certs names the folder that 'queued cluster init' made for this node")
		return
	}
	r.expiry(check, h, own.Certificate.Leaf)
	r.keyMode(check, filepath.Join(c.CertsDir, certs.KeyFile))
}

// clusterPort checks that the address is free. If a server is running, it skips this check, because
// a cluster port does not reveal its owner.
func (r *report) clusterPort(address string, answered bool) {
	const check = "cluster listen"
	err := free(address)
	switch {
	case err == nil:
		r.add(check, Fit, address+" is free", "")
	case errors.Is(err, syscall.EADDRINUSE) && answered:
		r.add(check, Fit, address+" is in use by the running server", "")
	default:
		r.add(check, Unfit, err.Error(), "stop the program that uses it, or choose another address with --cluster-listen")
	}
}

// peers connects concurrently to the other nodes that the configuration names.
func (r *report) peers(ctx context.Context, c *cluster.Config) {
	const check = "cluster peers"
	ctx, cancel := context.WithTimeout(ctx, askMax)
	defer cancel()
	type named struct{ name, address string }
	var all []named
	for _, id := range slices.Sorted(maps.Keys(c.Peers)) {
		if id != c.Node {
			all = append(all, named{id, c.Peers[id]})
		}
	}
	for _, address := range c.Join {
		all = append(all, named{"the node to join", address})
	}
	if len(all) == 0 {
		r.add(check, Fit, "none: at its first start this node forms a cluster that others join", "")
		return
	}
	errs := make([]error, len(all))
	var dialing sync.WaitGroup
	for i, p := range all {
		dialing.Go(func() {
			conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", p.address)
			if err == nil {
				err = conn.Close()
			}
			errs[i] = err
		})
	}
	dialing.Wait()
	for i, p := range all {
		if errs[i] != nil {
			r.add(check, Warning, fmt.Sprintf("%s can't be reached at %s: %v", p.name, p.address, errs[i]), "start it, or let connections through; shards are led only while most voters reach each other")
			continue
		}
		r.add(check, Fit, fmt.Sprintf("%s can be reached at %s", p.name, p.address), "")
	}
}
