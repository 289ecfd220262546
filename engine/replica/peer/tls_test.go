package peer

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"math/big"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// authority signs certificates of nodes.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	require.NoError(t, err)
	cert, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return &authority{t: t, cert: cert, key: key}
}

// issue returns a certificate for 127.0.0.1.
func (a *authority) issue(usages ...x509.ExtKeyUsage) tls.Certificate {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(a.t, err)
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "somebody"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: usages,
	}, a.cert, &key.PublicKey, a.key)
	require.NoError(a.t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func (a *authority) configs(usages ...x509.ExtKeyUsage) (server, client *tls.Config) {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	pair := a.issue(usages...)
	return &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: pool, NextProtos: []string{"h2", "http/1.1"}},
		&tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: pool, NextProtos: []string{"h2"}}
}

// secure turns TLS on, and no secret.
func (a *authority) secure(c *Config, _ *bounds) {
	c.Secret = nil
	c.Server, c.Client = a.configs(x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth)
}

func TestNodesSpeakTLS(t *testing.T) {
	authority := newAuthority(t)
	both := func(c *Config, b *bounds) {
		authority.secure(c, b)
		c.Secret = secret
	}
	for _, change := range []func(*Config, *bounds){authority.secure, both} {
		a, b := start(t, "n1", change), start(t, "n2", change)
		l := b.Group(0)
		out, err := a.Group(0).Dial(b.to(), patience)
		require.NoError(t, err)
		in := accept(t, l)
		exchange(t, out, in)
		for _, c := range []net.Conn{in, out} {
			state := c.(*conn).Conn.(*tls.Conn).ConnectionState()
			assert.EqualValues(t, tls.VersionTLS13, state.Version)
			assert.Empty(t, state.NegotiatedProtocol)
			assert.Len(t, state.VerifiedChains, 1)
		}
	}
}

func TestTLSThatDoesNotFitIsRefused(t *testing.T) {
	authority, other := newAuthority(t), newAuthority(t)
	plain := func(*Config, *bounds) {}
	as := func(usages ...x509.ExtKeyUsage) func(*Config, *bounds) {
		return func(c *Config, _ *bounds) {
			c.Secret = nil
			_, c.Client = authority.configs(usages...)
			c.Server, _ = authority.configs(x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth)
		}
	}
	open := func(c *Config, b *bounds) { // what a configuration for clients may be: none need a certificate
		authority.secure(c, b)
		inner, _ := authority.configs(x509.ExtKeyUsageServerAuth)
		c.Server = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return inner, nil }}
	}
	without := func(c *Config, b *bounds) {
		authority.secure(c, b)
		c.Client.Certificates = nil
	}
	named := func(c *Config, b *bounds) {
		authority.secure(c, b)
		c.Client.ServerName = "elsewhere.example"
	}
	for name, c := range map[string]struct {
		dialer, listener func(*Config, *bounds)
		here, there      string // what the dialer's error says, and the listener's log
	}{
		"TLS to none":                   {authority.secure, plain, "TLS", "TLS is off here"},
		"none to TLS":                   {plain, authority.secure, "have TLS on", "TLS is on here"},
		"another authority's":           {other.secure, authority.secure, "TLS handshake", "TLS handshake"},
		"no certificate":                {without, authority.secure, "tls: ", "TLS handshake"},
		"no certificate, none asked":    {without, open, "", "was not verified"},
		"a client's":                    {as(x509.ExtKeyUsageClientAuth), authority.secure, "", "is a client's"},
		"a server's":                    {as(x509.ExtKeyUsageServerAuth), authority.secure, "tls: ", "TLS handshake"},
		"a certificate of another host": {named, authority.secure, "elsewhere.example", "TLS handshake"},
	} {
		a, b := start(t, "n1", c.dialer), start(t, "n2", c.listener)
		b.Group(0)
		_, err := a.Group(0).Dial(b.to(), patience)
		require.Error(t, err, name)
		require.ErrorContains(t, err, c.here, name)
		b.logs("level=WARN", c.there)
		b.refusals(1)
	}

	a, b := start(t, "n1", as()), start(t, "n2", authority.secure)
	calls := b.Calls()
	out, err := a.DialCalls(within(t), "n2", b.Addr())
	require.NoError(t, err, "a certificate for whatever")
	exchange(t, out, accept(t, calls))
}

func TestOlderTLSIsRefused(t *testing.T) {
	authority := newAuthority(t)
	b := start(t, "n2", authority.secure)
	_, config := authority.configs(x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth)
	config.MaxVersion = tls.VersionTLS12
	_, err := tls.Dial("tcp", b.Addr(), config)
	require.ErrorContains(t, err, "protocol version")

	old := start(t, "n3", authority.secure, func(c *Config, _ *bounds) {
		inner, _ := authority.configs(x509.ExtKeyUsageServerAuth)
		inner.ClientAuth = tls.RequireAndVerifyClientCert
		c.Server = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return inner, nil }}
	})
	c, err := tls.Dial("tcp", old.Addr(), config)
	require.NoError(t, err)
	old.logs("nodes speak TLS 1.3")
	ended(t, c)
}

// TestAProofHoldsForOneTLSConnection lets somebody who has a certificate pass the handshake on.
func TestAProofHoldsForOneTLSConnection(t *testing.T) {
	authority := newAuthority(t)
	both := func(c *Config, b *bounds) {
		authority.secure(c, b)
		c.Secret = secret
	}
	a, b := start(t, "n1", both), start(t, "n2", both)
	b.Calls()
	server, client := authority.configs(x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth)
	relay, err := tls.Listen("tcp", "127.0.0.1:0", server)
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		in, err := relay.Accept()
		if !assert.NoError(t, err) {
			return
		}
		out, err := tls.Dial("tcp", b.Addr(), client)
		if !assert.NoError(t, err) {
			return
		}
		back := make(chan struct{})
		go func() {
			defer close(back)
			_, _ = io.Copy(in, out) // until one of them ends
			_ = in.Close()
		}()
		_, _ = io.Copy(out, in) // until one of them ends
		_ = out.Close()
		<-back
	}()
	_, err = a.DialCalls(within(t), "n2", relay.Addr().String())
	require.ErrorContains(t, err, "different cluster secrets")
	require.NoError(t, relay.Close())
	<-done
}
