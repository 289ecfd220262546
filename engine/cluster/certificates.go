package cluster

import (
	"log/slog"
	"time"

	"github.com/pronybench/prony/engine/internal/reload"
	"github.com/pronybench/prony/engine/internal/setting"
	"github.com/pronybench/prony/engine/internal/validity"
	"github.com/pronybench/prony/engine/replica/peer/certs"
)

// certificates contains the node's own certificate and the CA of the other nodes. Get reads the
// files again after they have changed.
type certificates struct {
	*reload.Value[*certs.Credentials]

	validity *validity.Watch
}

func loadCertificates(dir, node string, log *slog.Logger, now func() time.Time) (*certificates, error) {
	files, err := reload.Open(reload.Options[*certs.Credentials]{
		Names: certs.Files(dir), Load: func() (*certs.Credentials, error) {
			c, err := certs.Load(dir, node)
			return c, setting.Wrap(err, "--cluster-certs must name the folder that 'queued cluster init' made for this node", "cluster.certs")
		}, Now: now,
		Changed: func(c *certs.Credentials, err error) {
			if err != nil {
				log.Error("the cluster's certificates changed and cannot be used: the previous ones stay in use", "error", err)
				return
			}
			log.Info("read the cluster's certificates again", "folder", dir, "valid_until", c.Certificate.Leaf.NotAfter)
		},
	})
	if err != nil {
		return nil, err
	}
	c := &certificates{
		Value:    files,
		validity: validity.New(log, "the certificate that this node shows to the other nodes", "they refuse new connections", now),
	}
	c.look()
	return c, nil
}

// look logs a problem if the certificate in use is not valid.
func (c *certificates) look() { c.validity.Look(c.Get().Certificate.Leaf) }

// LookAtCertificates logs a problem of the certificate that this node presents to other nodes, once
// per certificate. The caller must call it periodically.
func (k *Cluster) LookAtCertificates() { k.certificates.look() }

// CertificateEnd returns the expiry of the certificate that this node presents to other nodes.
func (k *Cluster) CertificateEnd() time.Time { return k.certificates.Get().Certificate.Leaf.NotAfter }
