package doctor

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/node"
)

// certificate writes a certificate with the given validity, and its key.
func certificate(t *testing.T, from, until time.Time) node.TLS {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, NotBefore: from, NotAfter: until}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	dir := t.TempDir()
	out := node.TLS{CertFile: filepath.Join(dir, "cert.pem"), KeyFile: filepath.Join(dir, "key.pem")}
	require.NoError(t, os.WriteFile(out.CertFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	require.NoError(t, os.WriteFile(out.KeyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600))
	return out
}

func TestCertificateFindings(t *testing.T) {
	const year = 365 * 24 * time.Hour
	good := certificate(t, now.Add(-year), now.Add(year))
	other := certificate(t, now.Add(-year), now.Add(year))
	open := certificate(t, now.Add(-year), now.Add(year))
	require.NoError(t, os.Chmod(open.KeyFile, 0o644))
	none := filepath.Join(t.TempDir(), "none.pem")
	require.NoError(t, os.WriteFile(none, nil, 0o600))
	for name, c := range map[string]struct {
		files node.TLS
		level Level
		says  string
	}{
		"none":               {node.TLS{}, Fit, "connections are not encrypted"},
		"good":               {good, Fit, "valid until 2031-01-31"},
		"expired":            {certificate(t, now.Add(-year), now.Add(-time.Hour)), Unfit, "it expired on 2030-01-31"},
		"expires this hour":  {certificate(t, now.Add(-year), now), Unfit, "it expired on 2030-01-31"},
		"expires soon":       {certificate(t, now.Add(-year), now.Add(13*24*time.Hour)), Warning, "it expires on 2030-02-13"},
		"not yet":            {certificate(t, now.Add(time.Hour), now.Add(year)), Unfit, "it is not valid before 2030-01-31T13:00:00Z"},
		"other key":          {node.TLS{CertFile: good.CertFile, KeyFile: other.KeyFile}, Unfit, "private key does not match"},
		"missing":            {node.TLS{CertFile: "missing", KeyFile: "missing"}, Unfit, "no such file"},
		"open key":           {open, Warning, "can be read by others: its mode is 644"},
		"client authorities": {node.TLS{CertFile: good.CertFile, KeyFile: good.KeyFile, ClientCAFile: other.CertFile}, Fit, "valid until"},
		"no authorities":     {node.TLS{CertFile: good.CertFile, KeyFile: good.KeyFile, ClientCAFile: none}, Unfit, "has no certificate in PEM"},
		"authorities lost":   {node.TLS{CertFile: good.CertFile, KeyFile: good.KeyFile, ClientCAFile: "missing"}, Unfit, "no such file"},
	} {
		var r report
		r.certificates(healthy(), c.files)
		f := find(t, r, "certificate")
		assert.Equal(t, c.level, f.Level, "%s: %v", name, r)
		assert.Contains(t, f.Message, c.says, name)
	}
}
