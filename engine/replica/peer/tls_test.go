package peer

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/replica/peer/certs"
)

// foreign returns the credentials of a node of another cluster.
func foreign(t *testing.T, node string) *certs.Credentials {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, certs.Init(dir, []string{node}, time.Now()))
	c, err := certs.Load(filepath.Join(dir, node), node)
	require.NoError(t, err)
	return c
}

func TestNodesSpeakTLS(t *testing.T) {
	a, b := start(t, "n1"), start(t, "n2")
	l := b.Group(0)
	out, err := a.Group(0).Dial(b.to(), patience)
	require.NoError(t, err)
	in := accept(t, l)
	exchange(t, out, in)
	for _, c := range []net.Conn{in, out} {
		state := c.(*conn).Conn.(*tls.Conn).ConnectionState()
		assert.EqualValues(t, tls.VersionTLS13, state.Version)
		assert.Len(t, state.PeerCertificates, 1)
		assert.False(t, state.DidResume)
	}
}

// Both sides refuse certificates that their CA did not sign, and log and count the refusal.
func TestCertificatesThatDoNotFitAreRefused(t *testing.T) {
	good := credentials(t, "n1")()
	other := foreign(t, "n1")
	for name, c := range map[string]struct {
		dialer      *certs.Credentials
		here, there string // expected in the dialer's error and the listener's log
	}{
		"another CA's":                    {other, "certificate signed by unknown authority", "the other node does not accept this node's certificate"},
		"another CA's, trusting this one": {&certs.Credentials{Certificate: other.Certificate, CA: good.CA}, "the other node does not accept this node's certificate", "certificate signed by unknown authority"},
		"no certificate":                  {&certs.Credentials{CA: good.CA}, "the other node does not accept this node's certificate", "client didn't provide a certificate"},
	} {
		a, b := start(t, "n1", func(o *Config, _ *bounds) { o.Credentials = func() *certs.Credentials { return c.dialer } }), start(t, "n2")
		b.Group(0)
		_, err := a.Group(0).Dial(b.to(), patience)
		require.ErrorContains(t, err, c.here, name)
		require.ErrorContains(t, err, "'queued cluster init'", name)
		refused := (*RefusedError)(nil)
		require.ErrorAs(t, err, &refused, name)
		assert.Equal(t, CodeCertificate, refused.Code, name)
		a.logs("level=WARN", c.here)
		b.logs("level=WARN", c.there, "'queued cluster init'")
		b.refusals(1)
		assert.EqualValues(t, 1, a.Counters().Refused, name)
		assert.Zero(t, b.Counters().Accepted, name)
	}
}

// A dialer refuses a listener with a certificate of another CA before it sends anything.
func TestAListenerOfAnotherCAIsRefused(t *testing.T) {
	a, b := start(t, "n1"), start(t, "n2", func(c *Config, _ *bounds) {
		own := foreign(t, "n2")
		c.Credentials = func() *certs.Credentials { return own }
	})
	b.Group(0)
	_, err := a.Group(0).Dial(b.to(), patience)
	require.ErrorContains(t, err, "certificate signed by unknown authority")
	b.logs("level=WARN", "the other node does not accept this node's certificate")
}

func TestOlderTLSIsRefused(t *testing.T) {
	b, own := start(t, "n2"), credentials(t, "n1")()
	_, err := tls.Dial("tcp", b.Addr(), &tls.Config{Certificates: []tls.Certificate{own.Certificate}, RootCAs: own.CA, ServerName: "n2", MaxVersion: tls.VersionTLS12})
	require.ErrorContains(t, err, "protocol version")
	b.logs("level=WARN", "unsupported versions")
}

// Each handshake reads the certificate again: a replaced certificate takes effect without a
// restart.
func TestCertificatesAreReplacedWhileANodeRuns(t *testing.T) {
	var own atomic.Pointer[certs.Credentials]
	first := credentials(t, "n2")()
	own.Store(first)
	a, b := start(t, "n1"), start(t, "n2", func(c *Config, _ *bounds) { c.Credentials = own.Load })
	calls := b.Calls()
	shown := func() *x509.Certificate {
		t.Helper()
		out, err := a.DialCalls(within(t), "n2", b.Addr())
		require.NoError(t, err)
		exchange(t, out, accept(t, calls))
		return out.(*conn).Conn.(*tls.Conn).ConnectionState().PeerCertificates[0]
	}
	require.Equal(t, first.Certificate.Leaf.SerialNumber, shown().SerialNumber)
	next := credentials(t, "n2")()
	own.Store(next)
	require.Equal(t, next.Certificate.Leaf.SerialNumber, shown().SerialNumber)
}
