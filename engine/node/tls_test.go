package node

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/storage"
)

// authority signs certificates.
type authority struct {
	*testing.T

	cert  *x509.Certificate
	key   *ecdsa.PrivateKey
	names []string // of the issued certificates, in addition to 127.0.0.1
	until time.Time
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
	return &authority{T: t, cert: cert, key: key, until: c.NotAfter}
}

func (a *authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// issue returns a certificate for 127.0.0.1 and the names, with a serial number, and its key.
func (a *authority) issue(serial int64) (cert, key []byte) {
	a.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(a, err)
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(serial), NotBefore: time.Now().Add(-time.Hour), NotAfter: a.until,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: a.names, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, a.cert, &private.PublicKey, a.key)
	require.NoError(a, err)
	text, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(a, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: text})
}

func (a *authority) pair(serial int64) tls.Certificate {
	a.Helper()
	pair, err := tls.X509KeyPair(a.issue(serial))
	require.NoError(a, err)
	return pair
}

// replace writes a file like tools that renew certificates.
func replace(t *testing.T, path string, text []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(path+".new", text, 0o600))
	require.NoError(t, os.Rename(path+".new", path))
}

// write writes a certificate with a serial number, and its key, to the files of t.
func (a *authority) write(t TLS, serial int64) {
	a.Helper()
	cert, key := a.issue(serial)
	replace(a.T, t.KeyFile, key)
	replace(a.T, t.CertFile, cert)
}

func tlsFiles(t *testing.T) TLS {
	t.Helper()
	dir := t.TempDir()
	return TLS{CertFile: filepath.Join(dir, "cert.pem"), KeyFile: filepath.Join(dir, "key.pem")}
}

func openTLS(t *testing.T, config TLS) *Node {
	t.Helper()
	return openFor(t, func(c *Config) {
		c.Listen, c.TLS = append(c.Listen, "unix:"+filepath.Join(t.TempDir(), "s")), config
	})
}

// enqueueAt calls the server at an address.
func enqueueAt(t *testing.T, address string, options ...grpc.DialOption) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), adminPatience)
	defer cancel()
	c, err := client.Dial(address, options...)
	require.NoError(t, err)
	_, err = c.API().Enqueue(ctx, &queuepb.EnqueueRequest{Tasks: []*queuepb.NewTask{{Queue: "q"}}})
	require.NoError(t, c.Close())
	return err
}

// probe requests /livez of the admin listener over HTTPS.
func probe(address string, config *tls.Config) error {
	transport := &http.Transport{TLSClientConfig: config, DisableKeepAlives: true, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	out, err := (&http.Client{Transport: transport, Timeout: adminPatience}).Get("https://" + address + "/livez")
	if err != nil {
		return err
	}
	body, err := io.ReadAll(out.Body)
	if err == nil && string(body) != "ok\n" {
		err = errors.New(string(body))
	}
	return errors.Join(err, out.Body.Close())
}

// healthAt checks health over gRPC.
func healthAt(t *testing.T, address string, config *tls.Config) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), adminPatience)
	defer cancel()
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(credentials.NewTLS(config)))
	require.NoError(t, err)
	_, err = healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{})
	require.NoError(t, conn.Close())
	return err
}

// serial performs a handshake and returns the serial number of the server's certificate.
func serial(t *testing.T, address string, config *tls.Config) int64 {
	t.Helper()
	c, err := tls.Dial("tcp", address, config)
	require.NoError(t, err)
	defer c.Close() //nolint:errcheck // the test's own
	return c.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
}

func TestAllTCPListenersSpeakTLSAndUnixSocketsDoNot(t *testing.T) {
	a, files := newAuthority(t), tlsFiles(t)
	a.write(files, 7)
	n := openTLS(t, files)
	trusting := func() *tls.Config { return &tls.Config{RootCAs: a.pool()} }
	require.NoError(t, enqueueAt(t, n.Addresses()[0], client.WithTLS(trusting())))
	require.NoError(t, probe(n.Admin(), trusting()))
	require.NoError(t, enqueueAt(t, n.Addresses()[1]), "the socket's mode guards it")
	assert.EqualValues(t, 7, serial(t, n.Addresses()[0], trusting()))

	require.Error(t, enqueueAt(t, n.Addresses()[0], client.WithRetryMax(0)), "plain text looks like a server that is down")
	require.Error(t, enqueueAt(t, n.Addresses()[0], client.WithTLS(&tls.Config{RootCAs: newAuthority(t).pool()})), "another authority")
	require.NoError(t, healthAt(t, n.Admin(), trusting()), "gRPC on the admin listener")
	for _, address := range []string{n.Addresses()[0], n.HTTP(), n.Admin()} {
		for version := uint16(tls.VersionTLS10); version <= tls.VersionTLS12; version++ {
			_, err := tls.Dial("tcp", address, &tls.Config{RootCAs: a.pool(), MinVersion: version, MaxVersion: version})
			require.ErrorContains(t, err, "protocol version")
		}
		c, err := tls.Dial("tcp", address, trusting())
		require.NoError(t, err)
		assert.EqualValues(t, tls.VersionTLS13, c.ConnectionState().Version)
		require.NoError(t, c.Close())
	}
}

func TestMTLSAsksForACertificate(t *testing.T) {
	a, clients, files := newAuthority(t), newAuthority(t), tlsFiles(t)
	a.write(files, 1)
	files.ClientCAFile = filepath.Join(t.TempDir(), "clients.pem")
	require.NoError(t, os.WriteFile(files.ClientCAFile, clients.pem(), 0o600))
	n := openTLS(t, files)
	with := func(certificates ...tls.Certificate) *tls.Config {
		return &tls.Config{RootCAs: a.pool(), GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			if len(certificates) == 0 {
				return &tls.Certificate{}, nil
			}
			return &certificates[0], nil
		}}
	}
	known := clients.pair(2)
	require.NoError(t, enqueueAt(t, n.Addresses()[0], client.WithTLS(with(known))))
	require.NoError(t, probe(n.Admin(), with(known)))
	for name, config := range map[string]*tls.Config{"none": with(), "another authority's certificate": with(newAuthority(t).pair(3))} {
		require.Error(t, enqueueAt(t, n.Addresses()[0], client.WithTLS(config)), name)
		require.Error(t, probe(n.Admin(), config), name)
		require.Error(t, healthAt(t, n.Admin(), config), name)
	}

	// The authorities are read again too: a client certificate of a previous authority is no longer
	// accepted.
	require.NoError(t, os.WriteFile(files.ClientCAFile, newAuthority(t).pem(), 0o600))
	require.Eventually(t, func() bool { return probe(n.Admin(), with(known)) != nil }, adminPatience, 10*time.Millisecond)
}

func TestARunningNodeTakesUpARenewedCertificate(t *testing.T) {
	a, files := newAuthority(t), tlsFiles(t)
	a.write(files, 1)
	n := openTLS(t, files)
	config := &tls.Config{RootCAs: a.pool()}
	assert.EqualValues(t, 1, serial(t, n.Addresses()[0], config))
	a.write(files, 2)
	require.Eventually(t, func() bool { return serial(t, n.Addresses()[0], config) == 2 }, adminPatience, 10*time.Millisecond)
	assert.EqualValues(t, 2, serial(t, n.Admin(), config))
}

// watch is certificates with a clock that the test controls.
type watch struct {
	*certificates

	log bytes.Buffer
	mu  sync.Mutex
	now time.Time
}

func newWatch(t *testing.T, files TLS) *watch {
	t.Helper()
	w := &watch{now: time.Now()}
	var err error
	w.certificates, err = loadCertificates(files, slog.New(slog.NewTextHandler(&w.log, nil)), func() time.Time {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.now
	})
	require.NoError(t, err)
	return w
}

// after advances the clock, triggers the check of a handshake, and returns the serial number in
// use.
func (w *watch) after(d time.Duration) int64 {
	w.mu.Lock()
	w.now = w.now.Add(d)
	w.mu.Unlock()
	return w.files.Get().Certificates[0].Leaf.SerialNumber.Int64()
}

func TestTheFilesAreLookedAtOnceInAWhile(t *testing.T) {
	a, files := newAuthority(t), tlsFiles(t)
	a.write(files, 1)
	w := newWatch(t, files)
	a.write(files, 2)
	assert.EqualValues(t, 1, w.after(999*time.Millisecond))
	assert.EqualValues(t, 2, w.after(time.Millisecond))
	a.write(files, 3)
	assert.EqualValues(t, 2, w.after(999*time.Millisecond))
	assert.EqualValues(t, 3, w.after(time.Millisecond))
	before := w.files.Get()
	assert.EqualValues(t, 3, w.after(time.Hour))
	assert.Same(t, before, w.files.Get(), "files that did not change are not read")
}

// The replacement has the same modification time and size.
func TestARenewalOfTheSameTimeAndSizeIsSeen(t *testing.T) {
	a, files := newAuthority(t), tlsFiles(t)
	then := time.Now().Add(-time.Minute)
	put := func(serial int64) {
		cert, key := a.issue(serial)
		for path, text := range map[string][]byte{files.CertFile: cert, files.KeyFile: key} {
			replace(t, path, append(text, bytes.Repeat([]byte("\n"), 4_096-len(text))...))
			require.NoError(t, os.Chtimes(path, then, then))
		}
	}
	put(1)
	w := newWatch(t, files)
	put(2)
	assert.EqualValues(t, 2, w.after(time.Second))
}

func TestABrokenRenewalKeepsTheOldCertificate(t *testing.T) {
	a, files := newAuthority(t), tlsFiles(t)
	files.ClientCAFile = filepath.Join(t.TempDir(), "clients.pem")
	a.write(files, 1)
	require.NoError(t, os.WriteFile(files.ClientCAFile, a.pem(), 0o600))
	w := newWatch(t, files)
	good, err := os.ReadFile(files.CertFile)
	require.NoError(t, err)
	other, _ := a.issue(9)
	for name, text := range map[string][]byte{"nonsense": []byte("nonsense"), "empty": nil, "half": good[:len(good)/2], "another key's": other} {
		replace(t, files.CertFile, text)
		w.log.Reset()
		assert.EqualValues(t, 1, w.after(time.Second), name)
		assert.Contains(t, w.log.String(), "level=ERROR", name)
		assert.Contains(t, w.log.String(), files.CertFile, name)
		w.log.Reset()
		assert.EqualValues(t, 1, w.after(time.Second), name)
		assert.Empty(t, w.log.String(), "said once")
	}
	require.NoError(t, os.Remove(files.CertFile))
	assert.EqualValues(t, 1, w.after(time.Second))
	assert.Contains(t, w.log.String(), "level=ERROR")
	w.log.Reset()
	require.NoError(t, os.WriteFile(files.ClientCAFile, []byte("nonsense, and longer than before"), 0o600))
	assert.EqualValues(t, 1, w.after(time.Second))
	assert.Contains(t, w.log.String(), "level=ERROR")

	// The key is replaced before the certificate: in between, they do not match.
	replace(t, files.ClientCAFile, a.pem())
	cert, key := a.issue(2)
	replace(t, files.KeyFile, key)
	assert.EqualValues(t, 1, w.after(time.Second))
	replace(t, files.CertFile, cert)
	assert.EqualValues(t, 2, w.after(time.Second))
	assert.Contains(t, w.log.String(), "read the TLS files again")
}

func TestManyHandshakesAtOnce(t *testing.T) {
	a, files := newAuthority(t), tlsFiles(t)
	a.write(files, 1)
	w := newWatch(t, files)
	a.write(files, 2)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				w.after(10 * time.Millisecond)
			}
		})
	}
	all.Wait()
	assert.EqualValues(t, 2, w.after(time.Second))
}

func TestBadTLSFilesAreNamedAtTheStart(t *testing.T) {
	a, files := newAuthority(t), tlsFiles(t)
	a.write(files, 1)
	folder := t.TempDir()
	nonsense, missing := filepath.Join(folder, "nonsense"), filepath.Join(folder, "missing")
	require.NoError(t, os.WriteFile(nonsense, []byte("nonsense"), 0o600))
	for _, c := range []struct {
		config TLS
		want   string
	}{
		{TLS{CertFile: files.CertFile}, "has no key"},
		{TLS{KeyFile: files.KeyFile}, "has no certificate"},
		{TLS{ClientCAFile: files.CertFile}, "need a server certificate"},
		{TLS{CertFile: missing, KeyFile: files.KeyFile}, missing},
		{TLS{CertFile: files.CertFile, KeyFile: missing}, missing},
		{TLS{CertFile: nonsense, KeyFile: files.KeyFile}, nonsense},
		{TLS{CertFile: files.KeyFile, KeyFile: files.CertFile}, files.KeyFile},
		{TLS{CertFile: files.CertFile, KeyFile: files.KeyFile, ClientCAFile: missing}, missing},
		{TLS{CertFile: files.CertFile, KeyFile: files.KeyFile, ClientCAFile: nonsense}, nonsense},
	} {
		data := filepath.Join(t.TempDir(), "data")
		_, err := Open(Config{DataDir: data, Listen: []string{"127.0.0.1:0"}, Durability: storage.None, TLS: c.config})
		require.ErrorContains(t, err, c.want)
		assert.NoDirExists(t, data)
	}
}
