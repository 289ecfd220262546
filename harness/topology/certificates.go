package topology

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/pronybench/prony/harness/clienttls"
	"github.com/pronybench/prony/harness/proc"
)

// Files that 'queued cluster init' creates.
const (
	caFile    = "ca.crt"
	caKeyFile = "ca.key"
	certFile  = "tls.crt"
	keyFile   = "tls.key"
)

// anyPeer is the peer address that 'queued cluster init' requires for each node.
// The certificate does not contain it.
const anyPeer = "127.0.0.1:1"

// makeCertificates creates the certificates of a cluster's nodes. If kept is true, the certificates
// already exist, and it creates none.
func (c *Cluster) makeCertificates(ctx context.Context, kept bool) error {
	c.certs = filepath.Join(c.root, "certs")
	if kept {
		return nil
	}
	nodes := make([]string, len(c.servers))
	for i, s := range c.servers {
		nodes[i] = s.ID + "=" + s.PeerAddress
	}
	if err := c.initCertificates(ctx, c.certs, nodes...); err != nil {
		return fmt.Errorf("create the certificates of the cluster's nodes with %s: %w", c.config.Binary, err)
	}
	return nil
}

// makeServerCertificate creates a CA for the clients of this cluster, and the certificate that all
// servers present. It removes the key of the CA, so no other certificate can be signed with it. The
// nodes' certificates have another CA, so this certificate does not identify a node. If kept files
// exist, it uses them.
func (c *Cluster) makeServerCertificate(ctx context.Context, kept bool) error {
	dir := filepath.Join(c.root, "tls")
	c.tls = filepath.Join(dir, clienttls.ServerName)
	var err error
	if !kept {
		err = c.initCertificates(ctx, dir, clienttls.ServerName+"="+anyPeer)
		if err == nil {
			err = os.Remove(filepath.Join(dir, caKeyFile))
		}
	}
	for _, path := range []string{filepath.Join(dir, caFile), filepath.Join(c.tls, caFile), filepath.Join(c.tls, certFile), filepath.Join(c.tls, keyFile)} {
		if err == nil {
			err = os.Chmod(path, 0o600)
		}
	}
	var ca []byte
	if err == nil {
		ca, err = os.ReadFile(filepath.Join(dir, caFile))
	}
	if err != nil {
		return fmt.Errorf("create the servers' certificate with %s: %w", c.config.Binary, err)
	}
	c.CA = clienttls.Made(string(ca))
	return nil
}

// initCertificates runs the server's program to create a CA in dir, and a folder in dir for each
// node. Each element of nodes has the form "NAME=HOST:PORT".
func (c *Cluster) initCertificates(ctx context.Context, dir string, nodes ...string) error {
	cmd := exec.CommandContext(ctx, c.config.Binary, "cluster", "init", "--nodes", strings.Join(nodes, ","), "--out", dir)
	cmd.Env = append(proc.Environ("QUEUED_"), c.config.Env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", errors.Join(err, ctx.Err()), bytes.TrimSpace(out))
	}
	return nil
}
