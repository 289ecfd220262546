package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/pronybench/prony/engine/internal/tlscheck"
)

// obstacle says why the command and the server at an address do not agree on TLS, and which flags to change. It returns "" if TLS is not what
// stands between them, or if it cannot tell.
func (c *connection) obstacle(ctx context.Context, address string) (reason, remedy string) {
	config, err := c.tlsConfig()
	if err != nil {
		return "", ""
	}
	switch f := tlscheck.Look(ctx, address, config); f.Kind {
	case tlscheck.ServerHasTLS:
		remedy = `pass --tls-ca with the certificate of the authority that the server's certificate comes from, or "system" for those that the system trusts, or set ` + envTLSCA
		if f.Asked {
			return "it speaks TLS and asks for a client certificate, and this command was given neither", remedy + "; pass a client certificate with --tls-cert and --tls-key"
		}
		return "it speaks TLS, and this command was started without", remedy
	case tlscheck.ServerHasNone:
		return fmt.Sprintf("it does not speak TLS, and %s asks for it", c.asksForTLS()),
			fmt.Sprintf("leave out %s, or start the server with --tls-cert and --tls-key", c.asksForTLS())
	case tlscheck.UnknownAuthority:
		trusted := "the authorities that the system trusts"
		if c.tlsCA != "" && c.tlsCA != systemCA {
			trusted = "those in " + c.tlsCA
		}
		return fmt.Sprintf("its certificate comes from the authority %q, which is not among %s", f.Authority, trusted),
			"pass --tls-ca with that authority's certificate; for a certificate that nobody else signed, the server's own --tls-cert"
	case tlscheck.WrongName:
		return fmt.Sprintf("its certificate is for %s, not for %s", quoted(f.Names), f.Host),
			"name the server as its certificate does with --server or --admin-server, or give it a certificate that is for " + f.Host + " too"
	case tlscheck.Invalid:
		return fmt.Sprintf("its certificate cannot be used: %v", f.Err), "renew the certificate that the server's --tls-cert names, and see that the clocks are right"
	case tlscheck.CertificateMissing:
		return "it asks for a client certificate, and this command was given none", "pass a client certificate with --tls-cert and --tls-key, from an authority in the server's --tls-client-ca"
	case tlscheck.CertificateRefused:
		return fmt.Sprintf("it does not accept the client certificate %s: %v", c.tlsCert, f.Err),
			"pass a certificate with --tls-cert and --tls-key that is valid and comes from an authority in the server's --tls-client-ca"
	case tlscheck.Nothing:
	}
	return "", ""
}

// asksForTLS names what turned TLS on.
func (c *connection) asksForTLS() string {
	switch {
	case c.tlsCA == "":
		return "--tls-cert"
	case c.tlsCAFrom != "":
		return c.tlsCAFrom
	}
	return "--tls-ca"
}

// quoted lists names, or says that there is none.
func quoted(names []string) string {
	if len(names) == 0 {
		return "no name"
	}
	return strings.Join(names, ", ")
}
