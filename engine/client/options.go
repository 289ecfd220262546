package client

import (
	"crypto/tls"
	"net"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/pronybench/prony/engine/internal/busypoll"
)

// WithTLS encrypts the connection. config contains the trusted authorities and, for mTLS, the
// client certificate. If config is nil, the client trusts the system's authorities.
func WithTLS(config *tls.Config) grpc.DialOption {
	secure := credentials.NewTLS(config)
	return tlsOption{DialOption: grpc.WithTransportCredentials(secure), credentials: secure}
}

// WithBusyPoll makes an unencrypted connection poll for a short time before its thread sleeps. It
// is for a process that uses only one processor (GOMAXPROCS=1 on a host with several) and does not
// share that processor. Short answers then arrive faster, but the process uses CPU time while it is
// idle. In other processes the option has no effect.
func WithBusyPoll() grpc.DialOption { return busyPollOption{} }

type busyPollOption struct{ grpc.EmptyDialOption }

func plainCredentials(options []grpc.DialOption) credentials.TransportCredentials {
	for _, o := range options {
		if _, ok := o.(busyPollOption); ok {
			return busypoll.Credentials(insecure.NewCredentials())
		}
	}
	return insecure.NewCredentials()
}

// OnThisHost reports whether an address, "host:port" or "unix:/path", certainly belongs to this
// host.
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
