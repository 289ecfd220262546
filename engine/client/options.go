package client

import (
	"context"
	"crypto/tls"
	"net"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/pronybench/prony/engine/internal/busypoll"
)

// WithToken sends an access token's secret with each call. Dial refuses to send it unencrypted to another host, unless
// WithPlaintextToken says so.
func WithToken(secret string) grpc.DialOption { return tokenOption{secret: secret} }

// WithPlaintextToken lets the access token go to another host without TLS, where anyone on the network path can read it.
func WithPlaintextToken() grpc.DialOption { return plaintextOption{} }

// WithTLS encrypts the connection. The configuration says which servers to trust and, for mTLS, which certificate to
// show; nil trusts the system's authorities.
func WithTLS(config *tls.Config) grpc.DialOption {
	return grpc.WithTransportCredentials(credentials.NewTLS(config))
}

// WithBusyPoll makes the connection poll for a short time before its thread sleeps, unless WithTLS encrypts it. It is for a process
// that has a processor of its own and uses only that one (GOMAXPROCS=1 on a host of several): short answers come faster, and idle
// time costs CPU. In other processes the option has no effect.
func WithBusyPoll() grpc.DialOption { return busyPollOption{} }

type busyPollOption struct{ grpc.EmptyDialOption }

// plainCredentials returns the credentials of a connection that is not encrypted.
func plainCredentials(options []grpc.DialOption) credentials.TransportCredentials {
	for _, o := range options {
		if _, ok := o.(busyPollOption); ok {
			return busypoll.Credentials(insecure.NewCredentials())
		}
	}
	return insecure.NewCredentials()
}

type tokenOption struct {
	grpc.EmptyDialOption

	secret string
}

type plaintextOption struct{ grpc.EmptyDialOption }

// tokenOptions replaces this package's options by gRPC's, and reports whether there is a token that must not be sent unencrypted.
func tokenOptions(address string, options []grpc.DialOption) (out []grpc.DialOption, guarded bool) {
	plaintext := OnThisHost(address)
	for _, o := range options {
		if _, ok := o.(plaintextOption); ok {
			plaintext = true
		}
	}
	out = make([]grpc.DialOption, len(options))
	for i, o := range options {
		if t, ok := o.(tokenOption); ok {
			guarded = !plaintext
			o = grpc.WithPerRPCCredentials(bearer{metadata: map[string]string{"authorization": "Bearer " + t.secret}, plaintext: plaintext})
		}
		out[i] = o
	}
	return out, guarded
}

// OnThisHost reports whether an address, "host:port" or "unix:/path", is certainly of this host.
func OnThisHost(address string) bool {
	if strings.HasPrefix(address, "unix:") {
		return true
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// bearer is an access token as gRPC sends it.
type bearer struct {
	metadata  map[string]string
	plaintext bool
}

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return b.metadata, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials.
func (b bearer) RequireTransportSecurity() bool { return !b.plaintext }
