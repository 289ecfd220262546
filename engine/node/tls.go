package node

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/pronybench/prony/engine/internal/reload"
	"github.com/pronybench/prony/engine/internal/setting"
	"github.com/pronybench/prony/engine/internal/validity"
)

// TLS configures TLS 1.3 for the TCP listeners. The zero value disables it. The files are in PEM
// format. They are read again when they change. Unix sockets are not encrypted: their file mode
// protects them.
type TLS struct {
	CertFile string // the server's certificate and the intermediate certificates
	KeyFile  string // the certificate's key
	// ClientCAFile, if not empty, contains the authorities that must have signed client
	// certificates (mTLS).
	ClientCAFile string
}

func (t TLS) on() bool { return t.CertFile != "" }

func (t TLS) check() error {
	switch {
	case t.CertFile != "" && t.KeyFile == "":
		return setting.Errorf("tls.cert", "name its key too with --tls-key", "the TLS certificate %s has no key", t.CertFile)
	case t.CertFile == "" && t.KeyFile != "":
		return setting.Errorf("tls.key", "name its certificate too with --tls-cert", "the TLS key %s has no certificate", t.KeyFile)
	case t.ClientCAFile != "" && t.CertFile == "":
		return setting.Errorf("tls.client_ca", "name them with --tls-cert and --tls-key", "the authorities of client certificates, %s, need a server certificate and its key", t.ClientCAFile)
	}
	return nil
}

// certificates are the certificates for handshakes. When the files have changed, the next handshake
// loads them. If the new files cannot be used, the previous certificates remain in use.
type certificates struct {
	files    *reload.Value[*tls.Config]
	validity *validity.Watch
}

// loadCertificates reads the files of t, which must not be empty.
func loadCertificates(t TLS, log *slog.Logger, now func() time.Time) (*certificates, error) {
	files, err := reload.Open(reload.Options[*tls.Config]{
		Names: []string{t.CertFile, t.KeyFile, t.ClientCAFile}, Load: t.load, Now: now,
		Changed: func(c *tls.Config, err error) {
			if err != nil {
				log.Error("the TLS files changed and cannot be used: the previous certificate stays in use", "error", err)
				return
			}
			log.Info("read the TLS files again", "certificate", t.CertFile, "valid_until", c.Certificates[0].Leaf.NotAfter)
		},
	})
	if err != nil {
		return nil, err
	}
	c := &certificates{files: files, validity: validity.New(log, "the certificate of the listeners", "clients refuse it", now)}
	c.look()
	return c, nil
}

func (c *certificates) leaf() *x509.Certificate { return c.files.Get().Certificates[0].Leaf }

// look logs a problem if the certificate in use is not valid.
func (c *certificates) look() { c.validity.Look(c.leaf()) }

func (c *certificates) listener(l net.Listener) net.Listener {
	return tls.NewListener(l, &tls.Config{
		MinVersion:         tls.VersionTLS13,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return c.files.Get(), nil },
	})
}

func (c *certificates) named(name string) bool { return c.leaf().VerifyHostname(name) == nil }

func (t TLS) load() (*tls.Config, error) {
	certificate, err := os.ReadFile(t.CertFile)
	if err != nil {
		return nil, setting.Errorf("tls.cert", "name a PEM file that the user of the server may read", "the TLS certificate cannot be read: %w", err)
	}
	key, err := os.ReadFile(t.KeyFile)
	if err != nil {
		return nil, setting.Errorf("tls.key", "name a PEM file that the user of the server may read", "the TLS key cannot be read: %w", err)
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, setting.Wrap(fmt.Errorf("the TLS certificate %s and the key %s cannot be used: %w", t.CertFile, t.KeyFile, err),
			"--tls-cert and --tls-key must name PEM files that belong together", "tls.cert", "tls.key")
	}
	config := &tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{pair},
		NextProtos:   []string{"h2", "http/1.1"},
		// If a client resumed a session, it would not present its certificate again, which the
		// server may refuse by now.
		SessionTicketsDisabled: true,
	}
	if t.ClientCAFile == "" {
		return config, nil
	}
	text, err := os.ReadFile(t.ClientCAFile)
	if err != nil {
		return nil, setting.Errorf("tls.client_ca", "name a PEM file that the user of the server may read", "the authorities of client certificates cannot be read: %w", err)
	}
	config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
	if !config.ClientCAs.AppendCertsFromPEM(text) {
		return nil, setting.Errorf("tls.client_ca", "name a file with the certificates of the authorities that sign client certificates",
			"%s has no certificate in PEM", t.ClientCAFile)
	}
	return config, nil
}
