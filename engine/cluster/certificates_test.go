package cluster

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
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

// An expired certificate is logged once, whether it expires while the node runs or was already
// expired when it was installed.
func TestAnExpiredClusterCertificateIsLogged(t *testing.T) {
	dir, now, log := t.TempDir(), time.Now(), bytes.Buffer{}
	ca, err := certs.NewCA(now.AddDate(-6, 0, 0))
	require.NoError(t, err)
	require.NoError(t, ca.WriteNode(dir, "n1", now))
	c, err := loadCertificates(dir, "n1", slog.New(slog.NewTextHandler(&log, nil)), func() time.Time { return now })
	require.NoError(t, err)
	const expired = `level=ERROR msg="the certificate that this node shows to the other nodes has expired: they refuse new connections: renew it"`
	looked := func() string {
		log.Reset()
		for range 3 {
			now = now.Add(reload.CheckEvery)
			c.look()
		}
		return log.String()
	}
	assert.Empty(t, looked())
	require.NoError(t, ca.WriteNode(dir, "n1", now.AddDate(-6, 0, 0)))
	assert.Equal(t, 1, strings.Count(looked(), expired))
	require.NoError(t, ca.WriteNode(dir, "n1", now))
	assert.NotContains(t, looked(), "level=ERROR")
	now = now.AddDate(5, 0, 0)
	assert.Equal(t, 1, strings.Count(looked(), expired))
}
