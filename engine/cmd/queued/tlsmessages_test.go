package main

import (
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
)

// The golden file has the exact messages when a command and the server do not agree on TLS: for a
// command of each service, probe, status and doctor.
func TestTLSMessagesAreAsWritten(t *testing.T) {
	cert, key := certificate(t, "server")
	otherCert, otherKey := certificate(t, "other")
	nameCert, nameKey := certificateFor(t, "queue.example", func(c *x509.Certificate) {
		c.IPAddresses, c.DNSNames = nil, []string{"queue.example", "also.queue.example"}
	})
	t.Chdir(t.TempDir()) // shortens file names in messages
	for from, to := range map[string]string{
		cert: "server.pem", key: "server-key.pem", otherCert: "other.pem", otherKey: "other-key.pem", nameCert: "name.pem", nameKey: "name-key.pem",
	} {
		text, err := os.ReadFile(from)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(to, text, 0o600))
	}
	serve := func(flags ...string) *process {
		return start(t, append([]string{"--data", t.TempDir(), "--http", "127.0.0.1:0", "--durability", "none"}, flags...)...)
	}
	plain := serve()
	encrypted := serve("--tls-cert", "server.pem", "--tls-key", "server-key.pem")
	mutual := serve("--tls-cert", "server.pem", "--tls-key", "server-key.pem", "--tls-client-ca", "server.pem")
	elsewhere := serve("--tls-cert", "name.pem", "--tls-key", "name-key.pem")
	var b strings.Builder
	for _, c := range []struct {
		what   string
		server *process
		env    []string
		flags  string // of the commands
		doctor string // settings
	}{
		{"the server speaks TLS, and the command does not", encrypted, nil, "", ""},
		{"the server speaks TLS and asks for a client certificate, and the command has neither", mutual, nil, "", ""},
		{"the server asks for a client certificate", mutual, nil, "--tls-ca server.pem", "--tls-cert server.pem --tls-key server-key.pem"},
		{"the server asks for a client certificate, as the configuration says", mutual, nil, "--tls-ca server.pem", "--tls-cert server.pem --tls-key server-key.pem --tls-client-ca server.pem"},
		{"the client certificate is of an unknown authority", mutual, nil, "--tls-ca server.pem --tls-cert other.pem --tls-key other-key.pem", ""},
		{"the server's certificate is for other names", elsewhere, nil, "--tls-ca name.pem", ""},
		{"the server's certificate is of an unknown authority", encrypted, nil, "--tls-ca other.pem", ""},
		{"the server's certificate is of an authority that the system does not know", encrypted, nil, "--tls-ca system", ""},
		{"the server does not speak TLS", plain, nil, "--tls-ca server.pem", "--tls-cert server.pem --tls-key server-key.pem"},
		{"the server does not speak TLS, and a variable asks for it", plain, []string{"QUEUED_TLS_CA=server.pem"}, "", ""},
	} {
		fmt.Fprintf(&b, "# %s\n", c.what)
		s := newShell(t, append([]string{"QUEUED_SERVER=" + c.server.Listen[0], "QUEUED_ADMIN_SERVER=" + c.server.Admin, "QUEUED_DATA=" + t.TempDir()}, c.env...)...)
		for _, command := range []string{"claim --queue q", "queues list", "probe", "status"} {
			line := strings.TrimSpace(command + " " + c.flags)
			r := s.run(strings.Fields(line)...)
			r.fails(exitUnreachable)
			fmt.Fprintf(&b, "$ queued %s\n%s", line, r.err)
		}
		if c.doctor == "" && c.flags != "" || len(c.env) > 0 {
			b.WriteString("\n")
			continue
		}
		line := strings.TrimSpace("doctor " + c.doctor)
		fmt.Fprintf(&b, "$ queued %s\n", line)
		var e examined
		args := append(strings.Fields(line), "--data", t.TempDir(), "--listen", c.server.Listen[0], "--http", c.server.HTTP, "--admin", c.server.Admin, "-o", "json")
		decodeJSON(t, s.run(args...).out, &e)
		for _, f := range e.Findings {
			if f.Check == "listen" || f.Check == "http" || f.Check == "admin" {
				fmt.Fprintf(&b, "%s  %s  %s\n  -> %s\n", f.Level, f.Check, f.Message, f.Remedy)
			}
		}
		b.WriteString("\n")
	}
	text := b.String()
	for _, p := range []*process{plain, encrypted, mutual, elsewhere} {
		for _, address := range []string{p.Listen[0], p.HTTP, p.Admin} {
			_, port, err := net.SplitHostPort(address)
			require.NoError(t, err)
			text = strings.ReplaceAll(text, ":"+port, ":PORT")
		}
	}
	t.Chdir(home)
	golden.Text(t, "testdata/tls.golden", text)
}
