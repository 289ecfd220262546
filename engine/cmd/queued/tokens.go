package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/config"
)

// tokenCommands contains the subcommands of tenants tokens.
type tokenCommands struct{ *app }

func (a tokenCommands) tokens() *cobra.Command {
	return group("tokens", "Create, list, rotate and revoke access tokens", `  queued tenants tokens create --tenant acme --scope produce,work --expires-in 90d
  queued tenants tokens rotate tok_1 --grace 1h`,
		a.create(), a.list(), a.rotate(), a.revoke())
}

func scopeNames() []string { return []string{"produce", "work", "admin"} }

func scopes(names []string) (out []adminpb.Scope, err error) {
	words := scopeNames()
	for _, name := range names {
		n, known := adminpb.Scope_value["SCOPE_"+strings.ToUpper(name)]
		if !known || n == 0 {
			remedy := ""
			if meant := config.Nearest(name, words); meant != "" {
				remedy = ": did you mean " + meant + "?"
			}
			return nil, usageError{fmt.Errorf("--scope: %q is not one of %s%s", name, strings.Join(words, ", "), remedy)}
		}
		out = append(out, adminpb.Scope(n))
	}
	return out, nil
}

func (a tokenCommands) create() *cobra.Command {
	var tenant, note string
	var names []string
	var expires time.Duration
	c := &cobra.Command{
		Use:   "create --tenant TENANT --scope SCOPE",
		Short: "Create an access token and print its secret",
		Long: `Creates an access token and prints its secret. The server does not store the secret and cannot show it again.
Clients send it as "authorization: Bearer SECRET".

Scopes: produce (enqueue, read tasks and results), work (claim and settle), admin (the
administration commands of this program). The tenant "*" means all tenants, for operators.`,
		Example: `  queued tenants tokens create --tenant acme --scope produce --note 'web shop'
  queued tenants tokens create --tenant acme --scope work --expires-in 90d --output json | jq -r .secret > token`,
		Args: noArgs,
	}
	flags := c.Flags()
	flags.StringVar(&tenant, "tenant", "", `the token's tenant; "*" for all tenants`)
	flags.StringSliceVar(&names, "scope", nil, "produce, work or admin; several separated by commas, or in repeated flags")
	durationFlag(flags, &expires, "expires-in", "how long the token is valid; default: no expiry")
	flags.StringVar(&note, "note", "", "purpose of the token")
	needs(c, "tenant", "scope")
	conn := a.connect(c, true, false)
	c.RunE = func(c *cobra.Command, _ []string) error {
		wanted, err := scopes(names)
		if err != nil {
			return err
		}
		return conn.adminService(c, func(ctx context.Context, api adminpb.AdminServiceClient) error {
			out, err := api.CreateToken(ctx, &adminpb.CreateTokenRequest{Tenant: tenant, Scopes: wanted, ExpiresInMs: ms(expires), Note: note})
			if err != nil {
				return err
			}
			return a.print(document(out), func(t *table) { secretRows(t, out.GetToken(), out.GetSecret()) })
		})
	}
	return c
}

func secretRows(t *table, k *adminpb.Token, secret string) {
	t.row("id", k.GetId())
	t.row("secret", secret)
	t.row("tenant", k.GetTenant())
	t.row("scopes", scopeWords(k))
	t.row("expires", when(k.GetExpiresAtMs()))
}

func scopeWords(k *adminpb.Token) string {
	words := make([]string, len(k.GetScopes()))
	for i, s := range k.GetScopes() {
		words[i] = word(s)
	}
	return or(strings.Join(words, ","), "-")
}

func (a tokenCommands) list() *cobra.Command {
	c := &cobra.Command{
		Use:     "list",
		Short:   "List access tokens, without their secrets",
		Example: `  queued tenants tokens list --tenant acme`,
		Args:    noArgs,
	}
	conn := a.connect(c, true, true)
	c.RunE = func(c *cobra.Command, _ []string) error {
		return conn.adminService(c, func(ctx context.Context, api adminpb.AdminServiceClient) error {
			out, err := api.ListTokens(ctx, &adminpb.ListTokensRequest{Tenant: conn.tenant})
			if err != nil {
				return err
			}
			return a.print(document(out), func(t *table) {
				t.row("ID", "TENANT", "SCOPES", "CREATED", "EXPIRES", "NOTE")
				for _, k := range out.GetTokens() {
					t.row(k.GetId(), k.GetTenant(), scopeWords(k), when(k.GetCreatedAtMs()), when(k.GetExpiresAtMs()), k.GetNote())
				}
			})
		})
	}
	return c
}

func (a tokenCommands) rotate() *cobra.Command {
	var grace time.Duration
	c := &cobra.Command{
		Use:   "rotate ID",
		Short: "Give an access token a new secret and print it",
		Long: `Gives an access token a new secret and prints it with the validity of the old secret. Without --grace the old
secret ends immediately: clients that still send it are refused.`,
		Example: `  queued tenants tokens rotate tok_1             # the old secret ends immediately
  queued tenants tokens rotate tok_1 --grace 1h  # both are good for an hour`,
		Args: oneArg("ID"),
	}
	durationFlag(c.Flags(), &grace, "grace", "how long the old secret stays valid; default: it ends immediately")
	conn := a.connect(c, true, false)
	c.RunE = func(c *cobra.Command, args []string) error {
		return conn.adminService(c, func(ctx context.Context, api adminpb.AdminServiceClient) error {
			out, err := api.RotateToken(ctx, &adminpb.RotateTokenRequest{Id: args[0], GraceMs: ms(grace)})
			if err != nil {
				return err
			}
			now := a.clock.Now()
			return a.print(rotated(out, grace, now), func(t *table) {
				secretRows(t, out.GetToken(), out.GetSecret())
				t.row("old secret", oldSecret(grace, now))
			})
		})
	}
	return c
}

// rotated returns the document that describes a rotation. It contains the server's answer and the
// time at which the old secret becomes invalid, or 0 if it already is.
func rotated(out *adminpb.RotateTokenResponse, grace time.Duration, now time.Time) members {
	until := int64(0)
	if grace > 0 {
		until = now.Add(grace).UnixMilli()
	}
	return members{
		{"token", document(out.GetToken())}, {"secret", out.GetSecret()}, {"old_secret_until_ms", strconv.FormatInt(until, 10)},
	}
}

// oldSecret describes until when the old secret is valid after a rotation.
func oldSecret(grace time.Duration, now time.Time) string {
	if grace == 0 {
		return "ended: only the new secret is valid; 'queued tenants tokens rotate ID --grace 1h' extends the old one"
	}
	return "also valid until " + when(now.Add(grace).UnixMilli())
}

func (a tokenCommands) revoke() *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use:     "revoke ID",
		Short:   "End an access token immediately",
		Long:    "Ends an access token immediately, and the streams that were opened with it.",
		Example: `  queued tenants tokens revoke tok_1`,
		Args:    oneArg("ID"),
	}
	yesFlag(c, &yes)
	conn := a.connect(c, true, false)
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := a.confirm("end access token "+args[0], yes); err != nil {
			return err
		}
		return conn.adminService(c, func(ctx context.Context, api adminpb.AdminServiceClient) error {
			if _, err := api.RevokeToken(ctx, &adminpb.RevokeTokenRequest{Id: args[0]}); err != nil {
				return err
			}
			return a.print(members{{"id", args[0]}, {"done", "revoked"}}, func(t *table) { t.row(args[0], "revoked") })
		})
	}
	return c
}
