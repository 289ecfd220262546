package k6

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

	"github.com/pronybench/prony/engine/node"
	"github.com/pronybench/prony/harness/k6run"
)

// certificate returns a self-signed certificate and its key, both as PEM.
func certificate(t *testing.T, name string) (cert, key string) {
	t.Helper()
	secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &secret.PublicKey, secret)
	require.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(secret)
	require.NoError(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
}

func TestConnectionsAreEncrypted(t *testing.T) {
	cert, key := certificate(t, "queue.test")
	mine, mineKey := certificate(t, "worker.test")
	dir := t.TempDir()
	for name, text := range map[string]string{"cert.pem": cert, "key.pem": key, "clients.pem": mine} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	server := startServerWith(t, node.Config{Listen: []string{"127.0.0.1:0"}, TLS: node.TLS{
		CertFile: filepath.Join(dir, "cert.pem"), KeyFile: filepath.Join(dir, "key.pem"), ClientCAFile: filepath.Join(dir, "clients.pem"),
	}})
	s := read(t, New(), server.env(), ``)
	for name, text := range map[string]string{"ca": cert, "cert": mine, "key": mineKey} {
		require.NoError(t, s.VU.VU.Runtime().Set(name, text))
	}
	s.Run()
	s.must(`
		for (const tls of [{ca, cert, key}, {ca, cert, key, serverName: 'queue.test'}]) {
			const c = queue.connect({tls});
			await c.produce({queue: 'q', size: 64});
			await c.complete(await c.claim({queue: 'q'}));
			if (!(await c.admin.status()).ready) throw new Error('not ready');
			await c.close();
		}`)
	for options, want := range map[string]string{
		`{tls: {ca, cert, key, serverName: 'other.test'}}`: "certificate is valid for queue.test, not other.test",
		`{tls: true}`:                      "certificate signed by unknown authority",
		`{}`:                               "prony: produce: ",
		`{tls: {ca: cert, cert: ca, key}}`: "prony: connect: tls.cert: pass the content of the PEM files of a certificate and its key",
		`{tls: {ca}}`:                      "prony: produce: ",
	} {
		assert.Contains(t, s.fails(`const c = queue.connect(`+options+`); await c.produce({queue: 'q', size: 64});`), want, options)
	}

	// The TLS settings of the environment apply to a script without TLS options.
	env := server.env()
	env[k6run.TLSCAEnv] = cert
	for name, fails := range map[string]string{"queue.test": "", "other.test": "certificate is valid for queue.test, not other.test"} {
		env[k6run.TLSNameEnv] = name
		s := read(t, New(), env, ``)
		for name, text := range map[string]string{"cert": mine, "key": mineKey} {
			require.NoError(t, s.VU.VU.Runtime().Set(name, text))
		}
		s.Run()
		const script = `const c = queue.connect({tls: {cert, key}}); await c.produce({queue: 'q', size: 64}); await c.close();`
		if fails == "" {
			s.must(script)
		} else {
			assert.Contains(t, s.fails(script), fails)
		}
	}
}
