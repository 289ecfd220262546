package reference

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"

	"github.com/pronybench/prony/harness/clienttls"
)

// tlsPair are the two sides of the encrypted connections of an echo; both nil for connections in plain text.
type tlsPair struct{ server, client *tls.Config }

// certificateLife is for how long the certificate of an echo is valid, before and after now: longer than any sample takes.
const certificateLife = time.Hour

// newTLSPair makes a certificate that only the clients of the same pair trust, with a key of the kind that the servers under test have.
// The key is in memory only.
func newTLSPair() (tlsPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tlsPair{}, fmt.Errorf("make the key of the echo: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{clienttls.ServerName},
		NotBefore: time.Now().Add(-certificateLife), NotAfter: time.Now().Add(certificateLife),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tlsPair{}, fmt.Errorf("make the certificate of the echo: %w", err)
	}
	client, err := clienttls.Made(string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))).Config()
	if err != nil {
		return tlsPair{}, fmt.Errorf("make clients trust the echo: %w", err)
	}
	return tlsPair{
		server: &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}},
		client: client,
	}, nil
}
