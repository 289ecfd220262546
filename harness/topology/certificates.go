package topology

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/pronybench/prony/harness/proc"
)

// makeCertificates has the server's program make the certificates by which the nodes of a cluster know each other.
func (c *Cluster) makeCertificates(ctx context.Context) error {
	c.certs = filepath.Join(c.root, "certs")
	nodes := make([]string, len(c.servers))
	for i, s := range c.servers {
		nodes[i] = s.ID + "=" + s.PeerAddress
	}
	cmd := exec.CommandContext(ctx, c.config.Binary, "cluster", "init", "--nodes", strings.Join(nodes, ","), "--out", c.certs)
	cmd.Env = append(proc.Environ("QUEUED_"), c.config.Env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("make the certificates of the cluster's nodes with %s: %w: %s", c.config.Binary, errors.Join(err, ctx.Err()), bytes.TrimSpace(out))
	}
	return nil
}
