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
	"github.com/pronybench/prony/engine/internal/build"
	"github.com/pronybench/prony/engine/version"
)

func (a serverCommands) doctor() *cobra.Command {
	loader := config.NewLoader()
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Check the host, the configuration and the data folder",
		Long: `Checks a host before 'queued serve' starts with the same flags, environment and file, or while it runs: the
configuration, the clock, limits on processors, memory and open files, the data folder, its file system, free
space and the time that an fsync takes (at most 200 of them, or 2 s), certificates, the admin token, and the
addresses. For a cluster's node it also checks the certificate and the connections to the other nodes. If the
server runs, it compares the server's clock with the host's wall clock, and shows the skew between the nodes of
a cluster.

It reads the stores to the end and checks their counters, unless a server has them open; a server cannot start
during that time. Each line has the state, the check, the measured value, its limit and an explanation. The
state is fit, warning (a server would run), unfit (a server would not run, or would lose data) or unknown. The
command ends with 1 if a check is unfit.`,
		Example: `  queued doctor
  queued doctor --config /etc/queued.hcl
  queued doctor --data /var/lib/queued --output json | jq '.findings[] | select(.level != "fit")'`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			// This is the same version that servers report.
			in := doctor.Input{Program: doctor.Program{Version: version.Of().Version, Build: build.This()}, Host: doctor.This()}
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
				in.ServerProgram = askServer(a.app, loaded.Config, serverProgram)
				in.ServerClock = askServer(a.app, loaded.Config, serverClock)
				in.ClusterClocks = askServer(a.app, loaded.Config, clusterClocks)
			}
			shown := a.during(func() string { return "checking the host and the data folder" })
			findings := doctor.Run(c.Context(), in)
			shown()
			if err := c.Context().Err(); err != nil { // the remaining checks did not run
				return err
			}
			return a.printFindings(findings)
		},
	}
	settingFlags(c, loader)
	return c
}

// askServer returns a function that asks the server with configuration c, with the server's own
// token file. It returns nil if the server has no admin listener.
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
			conn.tlsCA = c.Node.TLS.CertFile // trust only this server's certificate
		}
		err = conn.withAdmin(ctx, func(ctx context.Context, api adminpb.AdminServiceClient) (err error) {
			answer, err = ask(ctx, api)
			return err
		})
		if err != nil {
			f := failureOf(err)
			err = &doctor.AskError{Reason: f.Message, Remedy: or(f.remedy, "see the server's log")}
		}
		return answer, err
	}
}

func serverProgram(ctx context.Context, api adminpb.AdminServiceClient) (doctor.Program, error) {
	out, err := api.GetStatus(ctx, &adminpb.GetStatusRequest{})
	return programOf(out), err
}

func programOf(s *adminpb.GetStatusResponse) doctor.Program {
	b := s.GetBuild()
	return doctor.Program{Version: s.GetVersion(), Build: build.Info{Commit: b.GetCommit(), Modified: b.GetModified(), SHA256: b.GetSha256()}}
}

func serverClock(ctx context.Context, api adminpb.AdminServiceClient) (time.Time, error) {
	out, err := api.GetStatus(ctx, &adminpb.GetStatusRequest{})
	return time.UnixMicro(out.GetClockUnixUs()), err
}

// clusterClocks returns the clocks of the cluster's nodes as the server knows them.
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

// certifiedName returns a name or address from a certificate, or "" if it contains
// none.
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

// printFindings prints a table in the layout of 'prony doctor'. Its columns are state, check,
// value, limit and explanation.
func (a serverCommands) printFindings(findings []doctor.Finding) error {
	n := map[doctor.Level]int{}
	for _, f := range findings {
		n[f.Level]++
	}
	all := doctor.Fit
	if n[doctor.Unfit] > 0 {
		all = doctor.Unfit
	}
	err := a.print(members{{"ok", n[doctor.Unfit] == 0}, {"findings", findings}}, func(t *table) {
		for _, f := range findings {
			t.row(f.Level, f.Check, f.Value, f.Limit, f.Message)
			if f.Remedy != "" {
				t.row("", "", "", "", "-> "+f.Remedy)
			}
		}
		t.row()
		t.row(fmt.Sprintf("%s: %s, %d unfit, %s, %d unknown", all, count(len(findings), "check"), n[doctor.Unfit], count(n[doctor.Warning], "warning"), n[doctor.Unknown]))
	})
	if unfit := n[doctor.Unfit]; unfit > 0 {
		err = errors.Join(fmt.Errorf("%s unfit", count(unfit, "check")), err)
	}
	return err
}
