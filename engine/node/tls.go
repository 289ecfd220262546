package node

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/pronybench/prony/engine/internal/reload"
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

// certificates are what handshakes use. They are read again at the first handshake after their files changed. If the
// new files cannot be used, the certificates that were read before stay in use.
type certificates struct {
	files *reload.Value[*tls.Config]
}

// loadCertificates reads the files of t, which names some.
func loadCertificates(t TLS, log *slog.Logger, now func() time.Time) (*certificates, error) {
	files, err := reload.Open(reload.Options[*tls.Config]{
		Names: []string{t.CertFile, t.KeyFile, t.ClientCAFile}, Load: t.load, Now: now,
		Changed: func(c *tls.Config, err error) {
			if err != nil {
				log.Error("the TLS files changed and cannot be used: the certificate that was read before stays in use", "error", err)
				return
			}
			log.Info("read the TLS files again", "certificate", t.CertFile, "valid_until", c.Certificates[0].Leaf.NotAfter)
		},
	})
	if err != nil {
		return nil, err
	}
	return &certificates{files: files}, nil
}

// listener wraps a listener so that what it accepts is encrypted.
func (c *certificates) listener(l net.Listener) net.Listener {
	return tls.NewListener(l, &tls.Config{
		MinVersion:         tls.VersionTLS13,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return c.files.Get(), nil },
	})
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
