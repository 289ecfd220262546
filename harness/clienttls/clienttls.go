// Package clienttls defines which servers the harness's clients trust when a topology has tls =
// true.
package clienttls

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
)

// ServerName is the name in the certificate of each server that the harness starts. The certificate
// does not contain the server's address, because the system chooses the port, and all nodes of a
// cluster have the same certificate.
const ServerName = "server"

// CA is the only certificate authority that a client trusts. The zero value means that connections
// are not encrypted. A CA is not secret.
type CA struct {
	PEM string `json:"pem"` // its certificate
	// Name is the expected name in the servers' certificates; "" means the host that the client
	// connects to.
	Name string `json:"name,omitempty"`
}

// Made returns the CA of servers that the harness starts, from its certificate as PEM text.
func Made(pem string) CA { return CA{PEM: pem, Name: ServerName} }

// IsZero reports whether connections are not encrypted.
func (ca CA) IsZero() bool { return ca == CA{} }

// Config returns the TLS configuration of a client that trusts only this authority, or nil if
// connections are not encrypted. It fails if the text contains no certificate. The caller owns the
// configuration.
func (ca CA) Config() (*tls.Config, error) {
	if ca.IsZero() {
		return nil, nil //nolint:nilnil // crypto/tls and net/http write "no TLS" in the same way
	}
	config := &tls.Config{MinVersion: tls.VersionTLS13, ServerName: ca.Name, RootCAs: x509.NewCertPool()}
	if !config.RootCAs.AppendCertsFromPEM([]byte(ca.PEM)) {
		return nil, errors.New("the certificate authority of the servers has no certificate in PEM")
	}
	return config, nil
}
