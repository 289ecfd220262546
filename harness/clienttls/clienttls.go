// Package clienttls says which servers the harness's clients trust when a topology has tls = true.
package clienttls

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
)

// ServerName is the name in the certificate of each server that the harness starts. A server's address is not in its certificate,
// because the system chooses the port, and all nodes of a cluster have the same certificate.
const ServerName = "server"

// CA is the only authority whose servers a client trusts: its certificate as PEM text. "" means that connections are not encrypted.
// A CA is not secret.
type CA string

// Config returns the configuration of a client that trusts this authority and no other, for a server with the name ServerName, or
// nil if connections are not encrypted. It fails if the text has no certificate. The configuration is the caller's.
func (ca CA) Config() (*tls.Config, error) {
	if ca == "" {
		return nil, nil //nolint:nilnil // crypto/tls and net/http write "no TLS" in the same way
	}
	config := &tls.Config{MinVersion: tls.VersionTLS13, ServerName: ServerName, RootCAs: x509.NewCertPool()}
	if !config.RootCAs.AppendCertsFromPEM([]byte(ca)) {
		return nil, errors.New("the authority that servers' certificates must come from has no certificate in PEM")
	}
	return config, nil
}
