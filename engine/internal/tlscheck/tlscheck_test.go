package tlscheck

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pair makes a self-signed certificate and a pool with it.
func pair(t *testing.T, change func(*x509.Certificate)) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "an authority"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"server.example"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	change(template)
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	leaf, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, pool
}

// serve starts an HTTP/2 server, with TLS if config is not nil, and returns its address.
func serve(t *testing.T, config *tls.Config) string {
	t.Helper()
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = nil
	if config != nil {
		s.EnableHTTP2, s.TLS = true, config
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

func TestLook(t *testing.T) {
	server, trusted := pair(t, func(*x509.Certificate) {})
	other, otherPool := pair(t, func(c *x509.Certificate) { c.Subject.CommonName = "another" })
	expired, expiredPool := pair(t, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) })
	tlsServer := serve(t, &tls.Config{Certificates: []tls.Certificate{server}})
	mutual := serve(t, &tls.Config{Certificates: []tls.Certificate{server}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: trusted, MinVersion: tls.VersionTLS13})
	old := serve(t, &tls.Config{Certificates: []tls.Certificate{expired}})
	plain := serve(t, nil)
	trusting := &tls.Config{RootCAs: trusted}
	for name, c := range map[string]struct {
		address string
		config  *tls.Config
		want    Finding
	}{
		"neither has TLS":        {plain, nil, Finding{}},
		"both have TLS":          {tlsServer, trusting, Finding{}},
		"only the server":        {tlsServer, nil, Finding{Kind: ServerHasTLS}},
		"only the server, mTLS":  {mutual, nil, Finding{Kind: ServerHasTLS, Asked: true}},
		"only the client":        {plain, trusting, Finding{Kind: ServerHasNone}},
		"another authority":      {tlsServer, &tls.Config{RootCAs: otherPool}, Finding{Kind: UnknownAuthority, Authority: "CN=an authority"}},
		"another name":           {tlsServer, &tls.Config{RootCAs: trusted, ServerName: "else.example"}, Finding{Kind: WrongName, Names: []string{"server.example", "127.0.0.1"}}},
		"expired":                {old, &tls.Config{RootCAs: expiredPool}, Finding{Kind: Invalid}},
		"no client certificate":  {mutual, trusting, Finding{Kind: CertificateMissing, Asked: true}},
		"bad client certificate": {mutual, &tls.Config{RootCAs: trusted, Certificates: []tls.Certificate{other}}, Finding{Kind: CertificateRefused, Asked: true}},
		"client certificate":     {mutual, &tls.Config{RootCAs: trusted, Certificates: []tls.Certificate{server}}, Finding{Asked: true}},
		"no server":              {"127.0.0.1:1", trusting, Finding{}},
	} {
		got := Look(t.Context(), c.address, c.config)
		if c.want.Kind != Nothing && c.want.Kind != ServerHasTLS {
			require.Error(t, got.Err, name)
		}
		if c.want.Kind != Nothing {
			want := "127.0.0.1"
			if c.config != nil && c.config.ServerName != "" {
				want = c.config.ServerName
			}
			assert.Equal(t, want, got.Host, name)
		}
		got.Err, got.Host = nil, ""
		assert.Equal(t, c.want, got, name)
	}
}

// A server that accepts connections and sends no data does not block Look beyond its context.
func TestLookEndsWithItsContext(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close() //nolint:errcheck // the test's own
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		c, err := l.Accept()
		if assert.NoError(t, err) {
			cancel()
			defer c.Close() //nolint:errcheck // the test's own
			_, _ = c.Read(make([]byte, 1<<16))
			_, _ = c.Read(make([]byte, 1))
		}
	}()
	assert.Equal(t, Nothing, Look(ctx, l.Addr().String(), &tls.Config{}).Kind)
}
