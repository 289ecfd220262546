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

// tlsPair contains the TLS configurations of the two ends of an echo's connections. Both are nil if
// the connections are not encrypted.
type tlsPair struct{ server, client *tls.Config }

// certificateLife is how long before and after its creation an echo's certificate is valid. It is
// longer than any sample takes.
const certificateLife = time.Hour

// newTLSPair creates a certificate that only the clients of the same pair trust. Its key has the
// same type as the keys of the servers under test. The key is only in memory.
func newTLSPair() (tlsPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tlsPair{}, fmt.Errorf("create the key of the echo: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{clienttls.ServerName},
		NotBefore: time.Now().Add(-certificateLife), NotAfter: time.Now().Add(certificateLife),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tlsPair{}, fmt.Errorf("create the certificate of the echo: %w", err)
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
