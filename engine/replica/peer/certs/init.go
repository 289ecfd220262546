package certs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

const (
	caKeyFile = "ca.key"

	// caYears and nodeYears are the validity periods of certificates in years.
	caYears, nodeYears = 20, 5
	// clockSlack is the maximum lag of a node's clock behind the clock of the host that creates its
	// certificate.
	clockSlack = time.Hour

	keyMode, certMode, folderMode = 0o600, 0o644, 0o700
)

// CA signs the certificates of nodes.
type CA struct {
	cert *x509.Certificate
	key  any
}

// Init writes a folder for each node into dir. The folder contains a certificate signed by the CA
// in dir. Init creates a CA if dir has none. If a node already has a folder, Init replaces the
// node's certificate with a new one.
func Init(dir string, nodes []string, now time.Time) error {
	ca, err := openCA(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if ca, err = NewCA(now); err == nil {
			err = ca.keep(dir)
		}
	}
	if err != nil {
		return fmt.Errorf("the CA in %s: %w", dir, err)
	}
	for _, node := range nodes {
		if err := ca.WriteNode(filepath.Join(dir, node), node, now); err != nil {
			return fmt.Errorf("the certificate of node %s: %w", node, err)
		}
	}
	return nil
}

// NewCA returns a new CA whose validity starts now.
func NewCA(now time.Time) (*CA, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	c := &x509.Certificate{
		Subject:   pkix.Name{CommonName: "queued cluster CA"},
		NotBefore: now.Add(-clockSlack), NotAfter: now.AddDate(caYears, 0, 0),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
	}
	ca := &CA{cert: c, key: key}
	der, err := ca.sign(c, key)
	if err != nil {
		return nil, err
	}
	ca.cert, err = x509.ParseCertificate(der)
	return ca, err
}

// openCA reads the CA from a folder. It returns fs.ErrNotExist if neither of its files exists.
func openCA(dir string) (*CA, error) {
	certPath, keyPath := filepath.Join(dir, CAFile), filepath.Join(dir, caKeyFile)
	_, noCert := os.Stat(certPath)
	_, noKey := os.Stat(keyPath)
	switch {
	case noCert != nil && noKey != nil:
		return nil, noCert
	// Do not create a new CA: existing nodes would refuse nodes with its certificates.
	case noCert != nil || noKey != nil:
		return nil, fmt.Errorf("only one of %s and %s exists: put the other one into the same folder, or name another folder", CAFile, caKeyFile)
	}
	pair, err := tls.LoadX509KeyPair(certPath, keyPath)
	if err != nil {
		return nil, err
	}
	if !pair.Leaf.IsCA {
		return nil, fmt.Errorf("%s is not the certificate of a CA", certPath)
	}
	return &CA{cert: pair.Leaf, key: pair.PrivateKey}, nil
}

func (ca *CA) keep(dir string) error {
	if err := os.MkdirAll(dir, folderMode); err != nil {
		return err
	}
	if err := writeKey(filepath.Join(dir, caKeyFile), ca.key); err != nil {
		return err
	}
	return writeCert(filepath.Join(dir, CAFile), ca.cert.Raw)
}

// WriteNode creates a certificate for a node and writes the node's folder.
func (ca *CA) WriteNode(dir, node string, now time.Time) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	end := now.AddDate(nodeYears, 0, 0)
	if end.After(ca.cert.NotAfter) {
		end = ca.cert.NotAfter
	}
	der, err := ca.sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: node}, DNSNames: []string{node}, NotBefore: now.Add(-clockSlack), NotAfter: end,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, key)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, folderMode); err != nil {
		return err
	}
	files := Files(dir)
	if err := writeCert(files[0], ca.cert.Raw); err != nil {
		return err
	}
	if err := writeCert(files[1], der); err != nil {
		return err
	}
	return writeKey(files[2], key)
}

func (ca *CA) sign(c *x509.Certificate, key *ecdsa.PrivateKey) ([]byte, error) {
	return x509.CreateCertificate(rand.Reader, c, ca.cert, &key.PublicKey, ca.key)
}

func writeCert(path string, der []byte) error {
	return write(path, &pem.Block{Type: "CERTIFICATE", Bytes: der}, certMode)
}

func writeKey(path string, key any) error {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	return write(path, &pem.Block{Type: "PRIVATE KEY", Bytes: der}, keyMode)
}

// write replaces a file atomically, so that a running node never reads a partial file.
func write(path string, block *pem.Block, mode fs.FileMode) error {
	next := path + ".new"
	if err := os.WriteFile(next, pem.EncodeToMemory(block), mode); err != nil {
		return err
	}
	return os.Rename(next, path)
}
