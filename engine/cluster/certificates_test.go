package cluster

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/internal/reload"
	"github.com/pronybench/prony/engine/replica/peer/certs"
)

func TestRenewedClusterCertificatesAreReadAgain(t *testing.T) {
	dir, now, log := t.TempDir(), time.Now(), bytes.Buffer{}
	require.NoError(t, certs.Init(dir, []string{"n1"}, now))
	own := filepath.Join(dir, "n1")
	c, err := loadCertificates(own, "n1", slog.New(slog.NewTextHandler(&log, nil)), func() time.Time { return now })
	require.NoError(t, err)
	first := c.Get()

	require.NoError(t, certs.Init(dir, []string{"n1"}, now))
	now = now.Add(reload.CheckEvery)
	renewed := c.Get()
	assert.NotEqual(t, first.Certificate.Leaf.SerialNumber, renewed.Certificate.Leaf.SerialNumber)
	assert.Contains(t, log.String(), "read the cluster's certificates again")

	require.NoError(t, os.WriteFile(filepath.Join(own, certs.CertFile), nil, 0o600))
	now = now.Add(reload.CheckEvery)
	assert.Same(t, renewed, c.Get())
	assert.Contains(t, log.String(), "cannot be used")
}
