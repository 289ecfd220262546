package node

import (
	"context"
	"time"
)

// certificatesEvery is how often watchCertificates looks at the certificates.
const certificatesEvery = 500 * time.Millisecond

// watchCertificates logs certificates that are not valid, also without connections, until ctx ends. It reads files: a file system that
// hangs stops this goroutine and nothing else.
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
