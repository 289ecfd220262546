package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/cmd/queued/doctor"
	"github.com/pronybench/prony/engine/config"
	"github.com/pronybench/prony/engine/version"
)

func (a *app) doctorCommand() *cobra.Command {
	loader := config.NewLoader()
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check the host, the configuration and the data folder",
		Long: `Checks, before 'queued serve' with the same flags, environment and file or beside it: the configuration, the
clock, limits on processors, memory and open files, the data folder, its file system, free space and the
time that an fsync takes (at most 200 of them, or 2 s), certificates, the admin token, and the addresses. For a
cluster's node it also checks the certificate and whether the other nodes are reached. Beside a running server it
compares the server's clock with the host's wall clock, and shows the skew between the nodes of a cluster.

It reads the stores to the end and checks their counters, unless a server holds them; a server cannot start
meanwhile. Each check reports ok, warning or problem, and the remedy. The command ends with 1 if there is a
problem.`,
		Example: `  queued doctor
  queued doctor --config /etc/queued.hcl
  queued doctor --data /var/lib/queued --output json | jq '.findings[] | select(.level != "ok")'`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			in := doctor.Input{Version: version.Of().String(), Host: doctor.This()}
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
				in.ServerVersion = askServer(a, loaded.Config, serverVersion)
				in.ServerClock = askServer(a, loaded.Config, serverClock)
				in.ClusterClocks = askServer(a, loaded.Config, clusterClocks)
			}
			return a.printFindings(doctor.Run(c.Context(), in))
		},
	}
	settingFlags(c, loader)
	return c
}

// askServer returns a way to ask a server with this configuration, with the token that it keeps itself; nil where there is
// none.
func askServer[T any](a *app, c *config.Config, ask func(context.Context, adminpb.AdminServiceClient) (T, error)) func(context.Context) (T, error) {
	if c.Node.Admin == "" {
		return nil
	}
	return func(ctx context.Context) (answer T, err error) {
		conn := &connection{app: a, adminServers: []string{doctor.Local(c.Node.Admin)}, timeout: defaultTimeout, data: c.Node.DataDir}
		if c.Node.TLS.CertFile != "" {
			if conn.serverName, err = certifiedName(c.Node.TLS.CertFile, c.Node.TLS.KeyFile); err != nil {
				return answer, err
			}
			conn.tlsCA = c.Node.TLS.CertFile // it is the one that must answer
		}
		err = conn.withAdmin(ctx, func(ctx context.Context, api adminpb.AdminServiceClient) (err error) {
			answer, err = ask(ctx, api)
			return err
		})
		return answer, err
	}
}

func serverVersion(ctx context.Context, api adminpb.AdminServiceClient) (string, error) {
	out, err := api.GetStatus(ctx, &adminpb.GetStatusRequest{})
	return out.GetVersion(), err
}

func serverClock(ctx context.Context, api adminpb.AdminServiceClient) (time.Time, error) {
	out, err := api.GetStatus(ctx, &adminpb.GetStatusRequest{})
	return time.UnixMicro(out.GetClockUnixUs()), err
}

// clusterClocks returns what the server knows of the clocks of the nodes of its cluster.
func clusterClocks(ctx context.Context, api adminpb.AdminServiceClient) (all []doctor.NodeClock, err error) {
	out, err := api.GetCluster(ctx, &adminpb.GetClusterRequest{})
	for _, m := range out.GetMembers() {
		all = append(all, doctor.NodeClock{
			Node: m.GetNode(), Known: m.ClockAheadUs != nil, Problem: m.GetClockProblem(),
			Ahead: time.Duration(m.GetClockAheadUs()) * time.Microsecond, Error: time.Duration(m.GetClockErrorUs()) * time.Microsecond,
		})
	}
	return all, err
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
