package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// certificate writes a self-signed certificate and its key.
func certificate(t *testing.T, name string) (cert, key string) {
	t.Helper()
	return certificateFor(t, name, func(*x509.Certificate) {})
}

// certificateFor is certificate with a change to the template.
func certificateFor(t *testing.T, name string, change func(*x509.Certificate)) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(365 * 24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	change(template)
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	require.NoError(t, err)
	bytes, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	dir := t.TempDir()
	cert, key = filepath.Join(dir, name+".pem"), filepath.Join(dir, name+"-key.pem")
	require.NoError(t, os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	require.NoError(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: bytes}), 0o600))
	return cert, key
}

func TestOverTLS(t *testing.T) {
	cert, key := certificate(t, "server")
	data := t.TempDir()
	p := start(t, "--data", data, "--http", "127.0.0.1:0", "--tls-cert", cert, "--tls-key", key)
	s := newShell(t, "QUEUED_SERVER="+p.Listen[0], "QUEUED_ADMIN_SERVER="+p.Admin, "QUEUED_DATA="+data, "QUEUED_TLS_CA="+cert)
	s.ok("enqueue", "--queue", "q", "x")
	assert.Equal(t, "ok\n", s.ok("probe"))
	s.run("probe", "--tls-ca", "system").fails(exitUnreachable, "certificate")
	other, _ := certificate(t, "other")
	s.run("claim", "--queue", "q", "--tls-ca", other).fails(exitUnreachable, "pass --tls-ca with that authority's certificate")
	s.env = s.env[:3]
	s.run("claim", "--queue", "q").fails(exitUnreachable, "can't reach the server")

	r := s.run("doctor", "--data", data, "--listen", p.Listen[0], "--http", p.HTTP, "--admin", p.Admin, "--tls-cert", cert, "--tls-key", key, "-o", "json")
	var e examined
	decodeJSON(t, r.out, &e)
	for _, check := range []string{"listen", "http", "admin"} {
		levels, messages := e.find(check)
		assert.Equal(t, []string{"fit"}, levels, "%s: %v", check, messages)
		assert.Contains(t, messages[0], "is answered by a queued")
	}
	_, messages := e.find("certificate")
	assert.Contains(t, messages[0], "valid until")
}

func TestOverMutualTLS(t *testing.T) {
	cert, key := certificate(t, "server")
	clientCert, clientKey := certificate(t, "client")
	data := t.TempDir()
	p := start(t, "--data", data, "--tls-cert", cert, "--tls-key", key, "--tls-client-ca", clientCert)
	s := newShell(t, "QUEUED_SERVER="+p.Listen[0], "QUEUED_DATA="+data, "QUEUED_TLS_CA="+cert)
	s.ok("enqueue", "--queue", "q", "x", "--tls-cert", clientCert, "--tls-key", clientKey)
	s.run("enqueue", "--queue", "q", "x").fails(exitUnreachable, "can't reach the server")
}

// Without a valid token, every call is refused.
func TestWithoutAToken(t *testing.T) {
	p := start(t, "--data", t.TempDir())
	s := newShell(t, "QUEUED_SERVER="+p.Listen[0], "QUEUED_DATA="+t.TempDir())
	s.run("claim", "--queue", "q").fails(exitUsage, "pass --token or --token-file, or set QUEUED_TOKEN")
	r := s.run("claim", "--queue", "q", "--token", "guessed", "-o", "json")
	r.fails(exitUsage)
	assert.Equal(t, "unauthenticated", r.failure().Code)
	s.ok("enqueue", "--queue", "q", "x", "--token-file", p.TokenFile)
	s.ok("enqueue", "--queue", "q", "x", "--token", p.token())

	open := start(t, "--data", t.TempDir(), "--auth", "off")
	assert.Empty(t, open.TokenFile)
	s.ok("enqueue", "--queue", "q", "x", "--server", open.Listen[0])
}

// A new admin token invalidates the old one.
func TestNewAdminToken(t *testing.T) {
	data := t.TempDir()
	p := start(t, "--data", data)
	before := p.token()
	assert.True(t, filepath.IsAbs(p.TokenFile))
	assert.Equal(t, 0, p.terminate(os.Interrupt))
	p = start(t, "--data", data)
	assert.Equal(t, before, p.token())
	assert.Equal(t, 0, p.terminate(os.Interrupt))
	p = start(t, "--data", data, "--new-admin-token")
	assert.NotEqual(t, before, p.token())
	s := newShell(t, "QUEUED_SERVER="+p.Listen[0])
	s.run("enqueue", "--queue", "q", "x", "--token", before).fails(exitUsage, "token")
	s.ok("enqueue", "--queue", "q", "x", "--token", p.token())
}

// Settings from the file and from the environment reach the server.
func TestServeTakesTheFileAndTheEnvironment(t *testing.T) {
	data := t.TempDir()
	file := filepath.Join(t.TempDir(), "q.hcl")
	require.NoError(t, os.WriteFile(file, []byte("data = \""+data+"\"\nshards = 2\nlimits {\n  payload_max = \"10B\"\n}\nlog {\n  format = \"json\"\n}\n"), 0o600))
	t.Setenv("QUEUED_CONFIG", file)
	t.Setenv("QUEUED_LIMITS_PAYLOAD_MAX", "5B")
	t.Setenv("QUEUED_SHRADS", "3")
	p := start(t)
	s := newShell(t, "QUEUED_SERVER="+p.Listen[0], "QUEUED_DATA="+data)
	s.ok("enqueue", "--queue", "q", "12345")
	s.run("enqueue", "--queue", "q", "123456").fails(exitUsage, "payload")
	assert.DirExists(t, filepath.Join(data, "shards", "0001"))
	assert.NoDirExists(t, filepath.Join(data, "shards", "0002"))
	assert.Contains(t, p.log.String(), `"msg":"serving"`)
	assert.Contains(t, p.log.String(), `"at":"QUEUED_SHRADS"`)
	assert.Contains(t, p.log.String(), `did you mean QUEUED_SHARDS?`)
}
