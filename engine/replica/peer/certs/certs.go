// Package certs makes and reads the certificates by which the nodes of a cluster know each other.
//
// A cluster has one certificate authority (CA), which signs a certificate for each node. Init writes them:
//
//	DIR/ca.crt       the CA's certificate
//	DIR/ca.key       the CA's key: it makes nodes, so keep it off the hosts of the nodes
//	DIR/n1/ca.crt    the folder of node n1, which goes to its host:
//	DIR/n1/tls.crt   the node's certificate
//	DIR/n1/tls.key   the certificate's key
//
// The names in a node's folder are those of a Kubernetes TLS secret, so that the certificates may also come from elsewhere. A node's certificate
// has the node's id among its DNS names, and is for server and for client authentication.
package certs

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// The files in a node's folder.
const (
	CAFile   = "ca.crt"
	CertFile = "tls.crt"
	KeyFile  = "tls.key"
)

// Files returns the paths of the files in a node's folder.
func Files(dir string) []string {
	return []string{filepath.Join(dir, CAFile), filepath.Join(dir, CertFile), filepath.Join(dir, KeyFile)}
}

// Credentials are the certificate that a node shows to the other nodes, and the CA whose certificates it accepts.
type Credentials struct {
	Certificate tls.Certificate
	CA          *x509.CertPool
}

// Load reads the folder of a node. The error says what the folder lacks, or that the certificate is not one for that node.
func Load(dir, node string) (*Credentials, error) {
	c, err := load(dir, node)
	if err != nil {
		return nil, fmt.Errorf("cluster certificates %s: %w", dir, err)
	}
	return c, nil
}

func load(dir, node string) (*Credentials, error) {
	files := Files(dir)
	text, err := os.ReadFile(files[0])
	if err != nil {
		return nil, fmt.Errorf("%w: 'queued cluster init' makes the folder of each node", err)
	}
	c := &Credentials{CA: x509.NewCertPool()}
	if !c.CA.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s has no certificate in PEM", CAFile)
	}
	if c.Certificate, err = tls.LoadX509KeyPair(files[1], files[2]); err != nil {
		return nil, err
	}
	leaf := c.Certificate.Leaf
	if !slices.Contains(leaf.DNSNames, node) {
		return nil, fmt.Errorf("%s is for %q, not for node %s", CertFile, leaf.DNSNames, node)
	}
	var chain []*x509.Certificate
	for _, der := range c.Certificate.Certificate {
		cert, err := x509.ParseCertificate(der)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", CertFile, err)
		}
		chain = append(chain, cert)
	}
	err = c.Verify(chain)
	if invalid := (x509.CertificateInvalidError{}); errors.As(err, &invalid) && invalid.Reason == x509.Expired {
		return c, nil // the other nodes refuse it and say so, and it can be replaced while the node runs
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", CertFile, err)
	}
	return c, nil
}

// Verify checks that a chain of certificates, the node's first, leads to the CA, and that the node's is for server and client authentication.
func (c *Credentials) Verify(chain []*x509.Certificate) error {
	if len(chain) == 0 {
		return errors.New("it shows no certificate")
	}
	between := x509.NewCertPool()
	for _, cert := range chain[1:] {
		between.AddCert(cert)
	}
	for _, usage := range []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth} {
		_, err := chain[0].Verify(x509.VerifyOptions{Roots: c.CA, Intermediates: between, KeyUsages: []x509.ExtKeyUsage{usage}})
		if err != nil {
			return err
		}
	}
	return nil
}
