// Package tlscheck finds out why a client and a server do not agree on TLS.
//
// The error of a connection that failed says little: gRPC passes it on as text, a server that expects TLS closes a connection without
// it, and one that wants a client certificate refuses only after the client's handshake has succeeded. So Look connects once more and
// watches the handshake.
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

// Kind is what stands between a client and a server.
type Kind int

// The kinds.
const (
	Nothing            Kind = iota // the client and the server agree, or Look could not tell
	ServerHasTLS                   // the client does not encrypt, and the server does
	ServerHasNone                  // the client encrypts, and the server does not
	UnknownAuthority               // the client does not trust the authority of the server's certificate
	WrongName                      // the server's certificate is for other names
	Invalid                        // the server's certificate has expired, is not valid yet, or is of no use for servers
	CertificateMissing             // the server wants a client certificate, and the client has none
	CertificateRefused             // the server does not accept the client's certificate
)

// Finding is what Look found.
type Finding struct {
	Kind Kind
	// Asked is set if the server asked for a client certificate.
	Asked bool
	// Host is the name that the client expects in the server's certificate.
	Host string
	// Names are those that the server's certificate is for, with WrongName.
	Names []string
	// Authority is the issuer of the server's certificate, with UnknownAuthority.
	Authority string
	// Err is the error of the handshake; nil with ServerHasTLS.
	Err error
}

// lookMax bounds the time that Look takes.
const lookMax = 3 * time.Second

// Look connects to a server, host:port or unix:/path, as a client with this configuration does, nil for one that does not encrypt. It
// sends no data. It returns Nothing if it cannot connect.
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
	defer raw.Close() //nolint:errcheck // nothing was sent
	stop := context.AfterFunc(ctx, func() { _ = raw.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	f := Finding{}
	own := f.clientConfig(address, config)
	conn := tls.Client(raw, own)
	f.Err = conn.HandshakeContext(ctx)
	if f.Err == nil {
		// A server refuses a client's certificate after the client's handshake. Otherwise it speaks first, because HTTP/2 was agreed on.
		_, f.Err = conn.Read(make([]byte, 1))
	}
	f.judge(config != nil, config != nil && len(config.Certificates) > 0)
	return f
}

// clientConfig returns the configuration of the handshake, which notes whether the server asks for a certificate.
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

// remoteAlert is net.OpError.Op of an alert that the server sent: the alert's type is not exported.
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

// namesOf returns the names and addresses that a certificate is for.
func namesOf(c *x509.Certificate) []string {
	names := slices.Clone(c.DNSNames)
	for _, ip := range c.IPAddresses {
		names = append(names, ip.String())
	}
	return names
}
