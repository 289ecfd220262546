package node

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// TLS says how the TCP listeners are encrypted: with TLS 1.3. The zero value means not at all. The files are PEM, and are
// read again when they change. Unix sockets are not encrypted: their mode guards them.
type TLS struct {
	CertFile string // the server's certificate, and what leads from it to its authority
	KeyFile  string // the certificate's key
	// ClientCAFile, if not empty, has the authorities that client certificates must come from: mTLS.
	ClientCAFile string
}

func (t TLS) on() bool { return t.CertFile != "" }

func (t TLS) check() error {
	switch {
	case (t.CertFile == "") != (t.KeyFile == ""):
		return fmt.Errorf("TLS certificate file %q and key file %q go together: name both or neither", t.CertFile, t.KeyFile)
	case t.ClientCAFile != "" && t.CertFile == "":
		return fmt.Errorf("TLS client CA file %q needs a server certificate: name its file and its key's", t.ClientCAFile)
	}
	return nil
}

// certificatesCheck is how often the files are looked at while clients connect.
const certificatesCheck = time.Second

// certificates are what handshakes use. They are read again at the first handshake after their files changed. Files that
// can't be used change nothing: what was good stays in use.
type certificates struct {
	files TLS
	log   *slog.Logger
	now   func() time.Time

	started time.Time
	checked atomic.Int64 // when the files were last looked at: nanoseconds after started
	current atomic.Pointer[tls.Config]

	mu   sync.Mutex
	seen []os.FileInfo // the files as they were last read; nil where there was none. Guarded by mu
}

// loadCertificates reads the files of t, which names some.
func loadCertificates(t TLS, log *slog.Logger, now func() time.Time) (*certificates, error) {
	c := &certificates{files: t, log: log, now: now, started: now(), seen: t.stat()}
	config, err := t.load()
	if err != nil {
		return nil, err
	}
	c.current.Store(config)
	return c, nil
}

// listener wraps a listener so that what it accepts is encrypted.
func (c *certificates) listener(l net.Listener) net.Listener {
	return tls.NewListener(l, &tls.Config{
		MinVersion: tls.VersionTLS13,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			c.refresh()
			return c.current.Load(), nil
		},
	})
}

// refresh reads the files again if they changed. One handshake in a while does so; others go on with what is there.
func (c *certificates) refresh() {
	now, last := int64(c.now().Sub(c.started)), c.checked.Load()
	if now-last < int64(certificatesCheck) || !c.checked.CompareAndSwap(last, now) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	files := c.files.stat() // before they are read: what changes meanwhile is seen the next time
	if sameFiles(files, c.seen) {
		return
	}
	c.seen = files
	config, err := c.files.load()
	if err != nil {
		c.log.Error("the TLS files changed and can't be used: the certificate that was read before stays in use", "error", err)
		return
	}
	c.current.Store(config)
	c.log.Info("read the TLS files again", "certificate", c.files.CertFile, "valid_until", config.Certificates[0].Leaf.NotAfter)
}

func (t TLS) names() []string { return []string{t.CertFile, t.KeyFile, t.ClientCAFile} }

func (t TLS) stat() []os.FileInfo {
	infos := make([]os.FileInfo, 3)
	for i, name := range t.names() {
		if info, err := os.Stat(name); err == nil { // a file that is missing is one that changed
			infos[i] = info
		}
	}
	return infos
}

func sameFiles(a, b []os.FileInfo) bool {
	for i := range a {
		if a[i] == nil || b[i] == nil {
			if a[i] != b[i] {
				return false
			}
			continue
		}
		if !os.SameFile(a[i], b[i]) || !a[i].ModTime().Equal(b[i].ModTime()) || a[i].Size() != b[i].Size() {
			return false
		}
	}
	return true
}

// load reads the files.
func (t TLS) load() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("TLS certificate %s with key %s: %w", t.CertFile, t.KeyFile, err)
	}
	config := &tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{pair},
		NextProtos:   []string{"h2", "http/1.1"},
		// A client that resumes a session would not show its certificate again, which may have been refused since.
		SessionTicketsDisabled: true,
	}
	if t.ClientCAFile == "" {
		return config, nil
	}
	text, err := os.ReadFile(t.ClientCAFile)
	if err != nil {
		return nil, fmt.Errorf("TLS client CA: %w", err)
	}
	config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
	if !config.ClientCAs.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("TLS client CA %s: %w", t.ClientCAFile, errors.New("there is no certificate in PEM in it"))
	}
	return config, nil
}

// peers returns how nodes of a cluster talk to each other: both sides show their certificates, and the authorities of
// clients' certificates are those of nodes.
func (c *certificates) peers() (server, client *tls.Config) {
	server = &tls.Config{
		MinVersion: tls.VersionTLS13,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			c.refresh()
			return c.current.Load(), nil
		},
	}
	now := c.current.Load()
	server.ClientAuth, server.ClientCAs, server.Certificates = now.ClientAuth, now.ClientCAs, now.Certificates
	client = &tls.Config{
		MinVersion: tls.VersionTLS13, RootCAs: now.ClientCAs,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			c.refresh()
			return &c.current.Load().Certificates[0], nil
		},
	}
	return server, client
}
