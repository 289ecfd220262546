package node

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/cluster"
	"github.com/pronybench/prony/engine/replica/peer/certs"
)

// A running node logs that a certificate was replaced by an expired one, even without connections.
func TestExpiredCertificatesOfARunningNodeAreLogged(t *testing.T) {
	dir, past := t.TempDir(), time.Now().AddDate(-6, 0, 0)
	ca, err := certs.NewCA(past)
	require.NoError(t, err)
	require.NoError(t, ca.WriteNode(dir, "n1", time.Now()))
	a, files := newAuthority(t), tlsFiles(t)
	a.write(files, 1)
	var log lockedText
	n := openFor(t, func(c *Config) {
		c.Log, c.TLS = slog.New(slog.NewTextHandler(&log, nil)), files
		c.Cluster = cluster.Config{Node: "n1", Listen: "127.0.0.1:0", CertsDir: dir}
		c.Admin = ""
	})
	assert.Greater(t, n.cluster.CertificateEnd(), time.Now())
	assert.Greater(t, n.tls.leaf().NotAfter, time.Now())
	require.NotContains(t, log.String(), "has expired")

	require.NoError(t, ca.WriteNode(dir, "n1", past))
	a.until = time.Now().Add(-time.Minute)
	a.write(files, 2)
	for _, line := range []string{
		`level=ERROR msg="the certificate that this node shows to the other nodes has expired: they refuse new connections: renew it"`,
		`level=ERROR msg="the certificate of the listeners has expired: clients refuse it: renew it"`,
	} {
		require.Eventually(t, func() bool { return strings.Contains(log.String(), line) }, adminPatience, 10*time.Millisecond, line)
		assert.Equal(t, 1, strings.Count(log.String(), line))
	}
	assert.Less(t, n.cluster.CertificateEnd(), time.Now())
}

func TestMetricsSayWhenCertificatesExpire(t *testing.T) {
	c := newConfigured(t, func(_ string, _ *Config) {}, 0)
	n := c.nodes[c.ids[0]]
	assert.Contains(t, scrape(t, n), `prony_certificate_expiry_timestamp_seconds{shown_to="nodes"}`)
	assert.NotContains(t, scrape(t, n), `prony_certificate_expiry_timestamp_seconds{shown_to="clients"}`)
}
