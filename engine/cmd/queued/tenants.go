package main

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/config"
)

// tenantCommands contains the subcommands of tenants.
type tenantCommands struct{ *app }

func (a tenantCommands) tenants() *cobra.Command {
	return group("tenants", "List tenants, set their quotas, manage access tokens", `  queued tenants list
  queued tenants configure acme --tasks-max 1000000 --enqueues-per-s-max 5000
  queued tenants tokens create --tenant acme --scope produce --note 'web shop'`,
		a.list(), a.configure(), tokenCommands(a).tokens())
}

func (a tenantCommands) list() *cobra.Command {
	c := &cobra.Command{
		Use:     "list",
		Short:   "List tenants with their usage and quotas",
		Example: `  queued tenants list`,
		Args:    noArgs,
	}
	var p pages
	p.flags(c.Flags())
	conn := a.connect(c, true, false)
	c.RunE = func(c *cobra.Command, _ []string) error {
		return conn.adminService(c, func(ctx context.Context, api adminpb.AdminServiceClient) error {
			all := &adminpb.ListTenantsResponse{}
			err := p.walk(a.app, func(size uint32, token string) (int, string, error) {
				out, err := api.ListTenants(ctx, &adminpb.ListTenantsRequest{PageSize: size, PageToken: token})
				all.Tenants = append(all.Tenants, out.GetTenants()...)
				all.NextPageToken = out.GetNextPageToken()
				return len(out.GetTenants()), out.GetNextPageToken(), err
			})
			if err != nil {
				return err
			}
			defer a.more(all.GetNextPageToken())
			return a.print(document(all), func(t *table) { tenantTable(t, all.GetTenants()) })
		})
	}
	return c
}

func tenantTable(t *table, tenants []*adminpb.Tenant) {
	t.row("TENANT", "QUEUES", "TASKS", "BYTES", "LEASES", "ENQUEUES/S", "PAYLOAD")
	for _, x := range tenants {
		q := x.GetQuotas()
		t.row(x.GetTenant(), x.GetQueues(), used(x.GetTasks(), q.GetTasksMax()), used(x.GetBytes(), q.GetBytesMax()),
			used(x.GetLeases(), q.GetLeasesMax()), bound(q.GetEnqueuesPerSMax()), bound(q.GetPayloadBytesMax()))
	}
}

// used formats a usage together with its quota. The argument most is the quota; 0 means no quota.
func used(n, most uint64) string {
	if most == 0 {
		return strconv.FormatUint(n, 10)
	}
	return strconv.FormatUint(n, 10) + " of " + strconv.FormatUint(most, 10)
}

func bound(most uint64) string {
	if most == 0 {
		return "-"
	}
	return "at most " + strconv.FormatUint(most, 10)
}

// quotaFlags are the flags of 'tenants configure'.
type quotaFlags struct {
	tasks, bytes, rate, leases, payload uint64
	reset                               bool
}

func (f *quotaFlags) define(flags *pflag.FlagSet) {
	numberFlag(flags, &f.tasks, "tasks-max", 0, "tasks stored for the tenant, in all states; 0: no bound, also for the other quotas")
	flags.Var(sizeValue{&f.bytes}, "bytes-max", "bytes stored for the tenant")
	numberFlag(flags, &f.rate, "enqueues-per-s-max", 0, "enqueues per second")
	numberFlag(flags, &f.leases, "leases-max", 0, "leased tasks")
	flags.Var(sizeValue{&f.payload}, "payload-max", "largest payload of a task")
	flags.BoolVar(&f.reset, "reset", false, "remove all other bounds")
}

func (f *quotaFlags) apply(flags *pflag.FlagSet, q *adminpb.Quotas) {
	for _, s := range []struct {
		flag string
		to   *uint64
		n    uint64
	}{
		{"tasks-max", &q.TasksMax, f.tasks},
		{"bytes-max", &q.BytesMax, f.bytes},
		{"enqueues-per-s-max", &q.EnqueuesPerSMax, f.rate},
		{"leases-max", &q.LeasesMax, f.leases},
		{"payload-max", &q.PayloadBytesMax, f.payload},
	} {
		if flags.Changed(s.flag) {
			*s.to = s.n
		}
	}
}

func (f *quotaFlags) named(flags *pflag.FlagSet) bool {
	return slices.ContainsFunc([]string{"tasks-max", "bytes-max", "enqueues-per-s-max", "leases-max", "payload-max", "reset"}, flags.Changed)
}

func (a tenantCommands) configure() *cobra.Command {
	var f quotaFlags
	c := &cobra.Command{
		Use:   "configure TENANT",
		Short: "Change a tenant's quotas",
		Long: `Changes the quotas that the flags name. The other quotas stay, or with --reset are removed. The quotas are read,
changed and written back: one of two changes at the same time may be lost.`,
		Example: `  queued tenants configure acme --tasks-max 1000000 --bytes-max 10GiB
  queued tenants configure acme --leases-max 500
  queued tenants configure acme --reset`,
		Args: oneArg("TENANT"),
	}
	f.define(c.Flags())
	conn := a.connect(c, true, false)
	c.RunE = func(c *cobra.Command, args []string) error {
		if !f.named(c.Flags()) {
			return usageError{errors.New("nothing to change: pass at least one of the quotas' flags, or --reset")}
		}
		return conn.adminService(c, func(ctx context.Context, api adminpb.AdminServiceClient) error {
			quotas := &adminpb.Quotas{}
			if !f.reset {
				now, err := api.ListTenants(ctx, &adminpb.ListTenantsRequest{Tenant: args[0]})
				if err != nil {
					return err
				}
				for _, t := range now.GetTenants() {
					if t.GetQuotas() != nil {
						quotas = t.GetQuotas()
					}
				}
			}
			f.apply(c.Flags(), quotas)
			out, err := api.ConfigureTenant(ctx, &adminpb.ConfigureTenantRequest{Tenant: args[0], Quotas: quotas})
			if err != nil {
				return err
			}
			return a.print(document(out), func(t *table) { tenantRows(t, out.GetTenant()) })
		})
	}
	return c
}

func tenantRows(t *table, x *adminpb.Tenant) {
	q := x.GetQuotas()
	size := func(n uint64) string {
		if n == 0 {
			return "no bound"
		}
		return config.FormatSize(n)
	}
	number := func(n uint64) string {
		if n == 0 {
			return "no bound"
		}
		return strconv.FormatUint(n, 10)
	}
	t.row("tenant", x.GetTenant())
	t.row("tasks", number(q.GetTasksMax()))
	t.row("bytes", size(q.GetBytesMax()))
	t.row("enqueues per second", number(q.GetEnqueuesPerSMax()))
	t.row("leases", number(q.GetLeasesMax()))
	t.row("payload", size(q.GetPayloadBytesMax()))
}
