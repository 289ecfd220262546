package cluster

import (
	"log/slog"
	"time"

	"github.com/pronybench/prony/engine/internal/reload"
	"github.com/pronybench/prony/engine/internal/setting"
	"github.com/pronybench/prony/engine/replica/peer/certs"
)

// loadCertificates reads the folder of the certificate that a node shows to the other nodes. Get of the value reads the
// folder again after a change.
func loadCertificates(dir, node string, log *slog.Logger, now func() time.Time) (*reload.Value[*certs.Credentials], error) {
	return reload.Open(reload.Options[*certs.Credentials]{
		Names: certs.Files(dir), Load: func() (*certs.Credentials, error) {
			c, err := certs.Load(dir, node)
			return c, setting.Wrap(err, "--cluster-certs must name the folder that 'queued cluster init' made for this node", "cluster.certs")
		}, Now: now,
		Changed: func(c *certs.Credentials, err error) {
			if err != nil {
				log.Error("the cluster's certificates changed and cannot be used: those that were read before stay in use", "error", err)
				return
			}
			log.Info("read the cluster's certificates again", "folder", dir, "valid_until", c.Certificate.Leaf.NotAfter)
		},
	})
}
