package node

import (
	"context"
	"time"
)

// certificatesEvery is the interval between checks of the certificates.
const certificatesEvery = 500 * time.Millisecond

// watchCertificates logs invalid certificates until ctx ends, even if there are no connections. It
// runs in a separate goroutine, so that a hanging file system blocks nothing else.
func (n *Node) watchCertificates(ctx context.Context) {
	if n.tls == nil && n.cluster == nil {
		return
	}
	tick := time.NewTicker(certificatesEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if n.tls != nil {
			n.tls.look()
		}
		if n.cluster != nil {
			n.cluster.LookAtCertificates()
		}
	}
}
