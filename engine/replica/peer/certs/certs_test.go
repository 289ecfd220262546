package certs

import (
	"crypto/rand"
	"crypto/x509"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func mode(t *testing.T, path string) os.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	require.NoError(t, err)
	return info.Mode().Perm()
}

func TestInitMakesACAAndAFolderForEachNode(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "certs")
	now := time.Now()
	require.NoError(t, Init(dir, []string{"n1", "n2"}, now))
	assert.EqualValues(t, 0o600, mode(t, filepath.Join(dir, "ca.key")))
	for _, node := range []string{"n1", "n2"} {
		own := filepath.Join(dir, node)
		assert.EqualValues(t, 0o600, mode(t, filepath.Join(own, "tls.key")))
		assert.EqualValues(t, 0o700, mode(t, own))
		_, err := os.Stat(filepath.Join(own, "ca.key"))
		require.ErrorIs(t, err, os.ErrNotExist, "the key of the CA is not for nodes")
		c, err := Load(own, node)
		require.NoError(t, err)
		leaf := c.Certificate.Leaf
		assert.Equal(t, []string{node}, leaf.DNSNames)
		assert.False(t, leaf.IsCA)
		assert.WithinDuration(t, now.AddDate(5, 0, 0), leaf.NotAfter, time.Second)
		require.NoError(t, c.Verify([]*x509.Certificate{leaf}))
	}
}

// A second run adds nodes and renews certificates with the existing CA.
func TestInitKeepsTheCA(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, Init(dir, []string{"n1"}, time.Now()))
	first, err := Load(filepath.Join(dir, "n1"), "n1")
	require.NoError(t, err)
	require.NoError(t, Init(dir, []string{"n1", "n4"}, time.Now()))
	again, err := Load(filepath.Join(dir, "n1"), "n1")
	require.NoError(t, err)
	fourth, err := Load(filepath.Join(dir, "n4"), "n4")
	require.NoError(t, err)
	assert.NotEqual(t, first.Certificate.Leaf.SerialNumber, again.Certificate.Leaf.SerialNumber)
	require.NoError(t, first.Verify([]*x509.Certificate{fourth.Certificate.Leaf}))
	require.NoError(t, fourth.Verify([]*x509.Certificate{first.Certificate.Leaf}))

	// If half of the CA is missing, Init creates nothing.
	for _, missing := range []string{"ca.key", "ca.crt"} {
		half := t.TempDir()
		require.NoError(t, Init(half, nil, time.Now()))
		require.NoError(t, os.Remove(filepath.Join(half, missing)))
		require.ErrorContains(t, Init(half, []string{"n5"}, time.Now()), "only one of ca.crt and ca.key exists")
	}
}

func TestAFolderThatDoesNotFitIsNamed(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	require.NoError(t, Init(dir, []string{"n1", "n2"}, time.Now()))
	require.NoError(t, Init(other, []string{"n1"}, time.Now()))
	copied := func(from, name string) func(own string) {
		return func(own string) {
			text, err := os.ReadFile(filepath.Join(from, name))
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(own, name), text, 0o600))
		}
	}
	for want, spoil := range map[string]func(own string){
		"'queued cluster init' makes the folder":  func(own string) { require.NoError(t, os.Remove(filepath.Join(own, CAFile))) },
		"tls.crt: no such file":                   func(own string) { require.NoError(t, os.Remove(filepath.Join(own, CertFile))) },
		"private key does not match":              copied(filepath.Join(dir, "n2"), KeyFile),
		"certificate signed by unknown authority": copied(filepath.Join(other, "n1"), CAFile),
		"ca.crt has no certificate in PEM":        func(own string) { require.NoError(t, os.WriteFile(filepath.Join(own, CAFile), nil, 0o600)) },
		`tls.crt is for ["n2"], not for node n1`: func(own string) {
			copied(filepath.Join(dir, "n2"), CertFile)(own)
			copied(filepath.Join(dir, "n2"), KeyFile)(own)
		},
	} {
		own := t.TempDir()
		for _, name := range []string{CAFile, CertFile, KeyFile} {
			copied(filepath.Join(dir, "n1"), name)(own)
		}
		_, err := Load(own, "n1")
		require.NoError(t, err)
		spoil(own)
		_, err = Load(own, "n1")
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, own)
	}
}

// An expired certificate does not prevent a node from starting: other nodes refuse it until it is
// renewed.
func TestAnExpiredCertificateIsRead(t *testing.T) {
	dir := t.TempDir()
	ca, err := NewCA(time.Now().AddDate(-6, 0, 0))
	require.NoError(t, err)
	require.NoError(t, ca.WriteNode(dir, "n1", time.Now().AddDate(-6, 0, 0)))
	c, err := Load(dir, "n1")
	require.NoError(t, err)
	require.ErrorContains(t, c.Verify([]*x509.Certificate{c.Certificate.Leaf}), "expired")
}

// A certificate that permits only client or only server authentication is refused.
func TestANodeIsServerAndClient(t *testing.T) {
	ca, err := NewCA(time.Now())
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, ca.WriteNode(dir, "n1", time.Now()))
	c, err := Load(dir, "n1")
	require.NoError(t, err)
	for _, usage := range []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth} {
		template := *c.Certificate.Leaf
		template.ExtKeyUsage, template.SerialNumber = []x509.ExtKeyUsage{usage}, nil
		der, err := x509.CreateCertificate(rand.Reader, &template, ca.cert, template.PublicKey, ca.key)
		require.NoError(t, err)
		leaf, err := x509.ParseCertificate(der)
		require.NoError(t, err)
		require.ErrorContains(t, c.Verify([]*x509.Certificate{leaf}), "incompatible key usage")
	}
	require.ErrorContains(t, c.Verify(nil), "no certificate")
}
