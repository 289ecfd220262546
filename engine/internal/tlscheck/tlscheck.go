// Package tlscheck finds out why a client and a server disagree on TLS.
//
// The error of a failed connection contains little information. gRPC reports it as text. A server
// that expects TLS just closes a connection without TLS. A server that requires a client
// certificate refuses only after the client's handshake has succeeded. Therefore Look connects
// again and observes the handshake.
package tlscheck

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"slices"
	"strings"
	"time"
)

// Kind is the disagreement between a client and a server.
type Kind int

// These are the disagreements.
const (
	Nothing       Kind = iota // the client and the server agree, or Look found no cause
	ServerHasTLS              // the server encrypts, but the client does not
	ServerHasNone             // the client encrypts, but the server does not
	// UnknownAuthority: the client does not trust the issuer of the server's certificate.
	UnknownAuthority
	WrongName // the server's certificate has other names
	// Invalid: the server's certificate has expired, is not valid yet, or is not for servers.
	Invalid
	// CertificateMissing: the server requires a client certificate, and the client has none.
	CertificateMissing
	CertificateRefused // the server does not accept the client's certificate
)

// Finding is the result of Look.
type Finding struct {
	Kind Kind
	// Asked is true if the server asked for a client certificate.
	Asked bool
	// Host is the name that the client expects in the server's certificate.
	Host string
	// Names are the names in the server's certificate. It is set with WrongName.
	Names []string
	// Authority is the issuer of the server's certificate. It is set with UnknownAuthority.
	Authority string
	// Err is the error of the handshake. It is nil with ServerHasTLS.
	Err error
}

// lookMax limits the duration of Look.
const lookMax = 3 * time.Second

// Look connects to a server at host:port or unix:/path, in the same way as a client with this
// configuration. A nil configuration means that the client does not encrypt. Look sends no data. If
// it cannot connect, Finding.Kind is Nothing.
func Look(ctx context.Context, address string, config *tls.Config) Finding {
	ctx, cancel := context.WithTimeout(ctx, lookMax)
	defer cancel()
	network, target := "tcp", address
	if path, isUnix := strings.CutPrefix(address, "unix:"); isUnix {
		network, target = "unix", path
	}
	raw, err := (&net.Dialer{}).DialContext(ctx, network, target)
	if err != nil {
		return Finding{}
	}
	defer raw.Close() //nolint:errcheck // no data was sent
	stop := context.AfterFunc(ctx, func() { _ = raw.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	f := Finding{}
	own := f.clientConfig(address, config)
	conn := tls.Client(raw, own)
	f.Err = conn.HandshakeContext(ctx)
	if f.Err == nil {
		// If the server refuses the client's certificate, it does so after the client's handshake,
		// so read once. Otherwise the server sends first, because the handshake selected HTTP/2.
		_, f.Err = conn.Read(make([]byte, 1))
	}
	f.judge(config != nil, config != nil && len(config.Certificates) > 0)
	return f
}

// clientConfig returns the TLS configuration for the handshake. It makes f record whether the
// server asks for a certificate.
func (f *Finding) clientConfig(address string, config *tls.Config) *tls.Config {
	own := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: true} //nolint:gosec // no data is sent
	if config != nil {
		own = config.Clone()
	}
	if own.ServerName == "" {
		if host, _, err := net.SplitHostPort(address); err == nil {
			own.ServerName = host
		}
	}
	f.Host = own.ServerName
	shown := slices.Clone(own.Certificates)
	own.Certificates, own.NextProtos = nil, []string{"h2"}
	own.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		f.Asked = true
		if len(shown) > 0 {
			return &shown[0], nil
		}
		return &tls.Certificate{}, nil
	}
	return own
}

// remoteAlert is the value of net.OpError.Op for an alert from the server. It is compared because
// the type of the alert is not exported.
const remoteAlert = "remote error"

func (f *Finding) judge(encrypts, shows bool) {
	var (
		authority x509.UnknownAuthorityError
		name      x509.HostnameError
		invalid   x509.CertificateInvalidError
		header    tls.RecordHeaderError
		op        *net.OpError
	)
	alert := errors.As(f.Err, &op) && op.Op == remoteAlert
	switch {
	case !encrypts:
		if f.Err == nil || alert {
			f.Kind, f.Err = ServerHasTLS, nil
		}
	case f.Err == nil:
	case errors.As(f.Err, &header):
		f.Kind = ServerHasNone
	case errors.As(f.Err, &name):
		f.Kind, f.Names = WrongName, namesOf(name.Certificate)
	case errors.As(f.Err, &authority):
		f.Kind = UnknownAuthority
		if authority.Cert != nil {
			f.Authority = authority.Cert.Issuer.String()
		}
	case errors.As(f.Err, &invalid):
		f.Kind = Invalid
	case alert && f.Asked && !shows:
		f.Kind = CertificateMissing
	case alert && f.Asked:
		f.Kind = CertificateRefused
	}
}

func namesOf(c *x509.Certificate) []string {
	names := slices.Clone(c.DNSNames)
	for _, ip := range c.IPAddresses {
		names = append(names, ip.String())
	}
	return names
}
