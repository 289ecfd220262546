// Package certs creates and reads the certificates with which the nodes of a cluster authenticate
// each other.
//
// A cluster has one certificate authority (CA), which signs a certificate for each node. Init
// writes these files:
//
//	DIR/ca.crt       the CA's certificate
//	DIR/ca.key       the CA's key: it can certify nodes, so do not copy it to the nodes' hosts
//	DIR/n1/ca.crt    in the folder of node n1, to be copied to its host
//	DIR/n1/tls.crt   the node's certificate
//	DIR/n1/tls.key   the certificate's key
//
// The file names in a node's folder are those of a Kubernetes TLS secret, so that certificates from
// other sources can be used too. A node's certificate has the node's ID among its DNS names, and
// permits both server and client authentication.
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

// Names of the files in a node's folder.
const (
	CAFile   = "ca.crt"
	CertFile = "tls.crt"
	KeyFile  = "tls.key"
)

// Files returns the paths of the files in a node's folder.
func Files(dir string) []string {
	return []string{filepath.Join(dir, CAFile), filepath.Join(dir, CertFile), filepath.Join(dir, KeyFile)}
}

// Credentials contains the certificate that a node presents to other nodes, and the CA that must
// have signed their certificates.
type Credentials struct {
	Certificate tls.Certificate
	CA          *x509.CertPool
}

// Load reads the folder of a node. It fails if files are missing or invalid, or if the certificate
// is not for this node. Load accepts an expired certificate.
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
		// Accept an expired certificate: other nodes refuse it and give the reason, and it can be
		// replaced while this node runs.
		return c, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", CertFile, err)
	}
	return c, nil
}

// Verify checks that a chain of certificates, starting with the node's, ends at the CA. It also
// checks that the node's certificate permits server and client authentication.
func (c *Credentials) Verify(chain []*x509.Certificate) error {
	if len(chain) == 0 {
		return errors.New("the other node shows no certificate")
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
