package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/pronybench/prony/engine/internal/tlscheck"
)

// obstacle checks whether the command and the server at address disagree on TLS. If so, it returns
// the reason and which flags to change. It returns "" if TLS is not the cause, or if the cause is
// unknown.
func (c *connection) obstacle(ctx context.Context, address string) (reason, remedy string) {
	config, err := c.tlsConfig()
	if err != nil {
		return "", ""
	}
	switch f := tlscheck.Look(ctx, address, config); f.Kind {
	case tlscheck.ServerHasTLS:
		remedy = `pass --tls-ca with the certificate of the authority that issued the server's certificate, or "system" for the system's authorities, or set ` + envTLSCA
		if f.Asked {
			return "it speaks TLS and requires a client certificate, and this command has neither", remedy + "; pass a client certificate with --tls-cert and --tls-key"
		}
		return "it speaks TLS, and this command does not", remedy
	case tlscheck.ServerHasNone:
		return fmt.Sprintf("it does not speak TLS, but %s selects TLS", c.asksForTLS()),
			fmt.Sprintf("leave out %s, or start the server with --tls-cert and --tls-key", c.asksForTLS())
	case tlscheck.UnknownAuthority:
		trusted := "the system's authorities"
		if c.tlsCA != "" && c.tlsCA != systemCA {
			trusted = "those in " + c.tlsCA
		}
		return fmt.Sprintf("its certificate was issued by the authority %q, which is not among %s", f.Authority, trusted),
			"pass --tls-ca with that authority's certificate; for a self-signed certificate, with the server's --tls-cert"
	case tlscheck.WrongName:
		return fmt.Sprintf("its certificate is for %s, not for %s", quoted(f.Names), f.Host),
			"use a name in the certificate for --server or --admin-server, or give the server a certificate that is for " + f.Host + " too"
	case tlscheck.Invalid:
		return fmt.Sprintf("its certificate cannot be used: %v", f.Err), "renew the certificate that the server's --tls-cert names, and check the clocks"
	case tlscheck.CertificateMissing:
		return "it requires a client certificate, and this command has none", "pass a client certificate with --tls-cert and --tls-key, issued by an authority in the server's --tls-client-ca"
	case tlscheck.CertificateRefused:
		return fmt.Sprintf("it does not accept the client certificate %s: %v", c.tlsCert, f.Err),
			"pass a certificate with --tls-cert and --tls-key that is valid and was issued by an authority in the server's --tls-client-ca"
	case tlscheck.Nothing:
	}
	return "", ""
}

// asksForTLS returns the name of the flag or variable that turned TLS on.
func (c *connection) asksForTLS() string {
	switch {
	case c.tlsCA == "":
		return "--tls-cert"
	case c.tlsCAFrom != "":
		return c.tlsCAFrom
	}
	return "--tls-ca"
}

// quoted returns the names separated by commas, or "no name" if the list is empty.
func quoted(names []string) string {
	if len(names) == 0 {
		return "no name"
	}
	return strings.Join(names, ", ")
}
