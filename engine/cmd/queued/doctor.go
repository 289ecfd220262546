package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/cmd/queued/doctor"
	"github.com/pronybench/prony/engine/config"
)

func (a *app) doctorCommand() *cobra.Command {
	loader := config.NewLoader()
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check the host, the configuration and the data folder",
		Long: `Checks, before 'queued serve' with the same flags, environment and file or beside it: the configuration, the
clock, limits on processors, memory and open files, the data folder, its file system, free space and the
time that an fsync takes (at most 200 of them, or 2 s), certificates, the admin token, the addresses.

The stores are read to the end and their counters checked, unless a server holds them; a server that is
started meanwhile is refused. Each check says ok, warning or problem, and what to do. It ends with 1 if
there is a problem.`,
		Example: `  queued doctor
  queued doctor --config /etc/queued.hcl
  queued doctor --data /var/lib/queued --output json | jq '.findings[] | select(.level != "ok")'`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			in := doctor.Input{Version: buildVersion(), Host: doctor.This()}
			if f := c.Flags().Lookup(config.FileFlag); f != nil {
				in.File = f.Value.String()
			}
			if file, set := a.variable(config.FileEnv); set && in.File == "" {
				in.File = file
			}
			loaded, err := loader.Load(a.env, clientVariables())
			if err != nil && !errors.As(err, &in.Problems) {
				return err
			}
			if loaded != nil {
				in.Config, in.Warnings = loaded.Config, loaded.Warnings
				in.ServerVersion = a.serverVersion(loaded.Config)
			}
			return a.printFindings(doctor.Run(c.Context(), in))
		},
	}
	settingFlags(c, loader)
	return c
}

// serverVersion asks a server with this configuration for its version, with the token that it keeps itself.
func (a *app) serverVersion(c *config.Config) func(context.Context) (string, error) {
	if c.Node.Admin == "" {
		return nil
	}
	return func(ctx context.Context) (version string, err error) {
		conn := &connection{app: a, adminServer: doctor.Local(c.Node.Admin), timeout: defaultTimeout, data: c.Node.DataDir}
		if c.Node.TLS.CertFile != "" {
			if conn.serverName, err = certifiedName(c.Node.TLS.CertFile, c.Node.TLS.KeyFile); err != nil {
				return "", err
			}
			conn.tlsCA = c.Node.TLS.CertFile // it is the one that must answer
		}
		err = conn.withAdmin(ctx, func(ctx context.Context, api adminpb.AdminServiceClient) error {
			out, err := api.GetStatus(ctx, &adminpb.GetStatusRequest{})
			version = out.GetVersion()
			return err
		})
		return version, err
	}
}

// certifiedName returns a name that a certificate is for.
func certifiedName(cert, key string) (string, error) {
	pair, err := tls.LoadX509KeyPair(cert, key)
	switch {
	case err != nil:
		return "", fmt.Errorf("read the certificate: %w", err)
	case len(pair.Leaf.DNSNames) > 0:
		return pair.Leaf.DNSNames[0], nil
	case len(pair.Leaf.IPAddresses) > 0:
		return pair.Leaf.IPAddresses[0].String(), nil
	}
	return "", nil
}

func (a *app) printFindings(findings []doctor.Finding) error {
	problems := 0
	for _, f := range findings {
		if f.Level == doctor.Problem {
			problems++
		}
	}
	err := a.print(members{{"ok", problems == 0}, {"findings", findings}}, func(t *table) {
		for _, f := range findings {
			t.row(f.Level, f.Check, f.Message)
			if f.Remedy != "" {
				t.row("", "", "-> "+f.Remedy)
			}
		}
	})
	if problems > 0 {
		err = errors.Join(fmt.Errorf("%s found", count(problems, "problem")), err)
	}
	return err
}
