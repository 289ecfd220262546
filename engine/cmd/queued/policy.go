package main

import (
	"context"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/grpc/codes"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queuepb"
)

// policyFlags are the flags of 'queues configure' for a queue's policy.
type policyFlags struct {
	placement                                      adminpb.Placement
	maxAttempts                                    uint32
	lease, ttl, retain, backoffInitial, backoffMax time.Duration
	keyWindow, historyRetention                    time.Duration
	historyMax                                     uint32
	multiplier, jitter                             uint32
	limit, groupLimit                              limitFlags
	reset                                          bool
}

func (f *policyFlags) define(flags *pflag.FlagSet) {
	wordFlag(flags, &f.placement, "placement", []string{"spread", "ordered"},
		[]adminpb.Placement{adminpb.Placement_PLACEMENT_SPREAD, adminpb.Placement_PLACEMENT_ORDERED},
		"spread: each batch goes to one of the shards; ordered: all tasks go to one shard and keep their order")
	numberFlag(flags, &f.maxAttempts, "max-attempts", 0, "number of failed attempts after which a task is dead")
	durationFlag(flags, &f.lease, "lease", "how long a lease lasts if the claim sets none")
	durationFlag(flags, &f.backoffInitial, "backoff-initial", "wait before the second attempt")
	durationFlag(flags, &f.backoffMax, "backoff-max", "longest wait before an attempt")
	flags.Var(percentValue{&f.multiplier, 100}, "backoff-multiplier", "factor of the wait for each attempt, 1 to 10, as in 2 or 1.5")
	flags.Var(percentValue{&f.jitter, 1}, "backoff-jitter", "largest random reduction of the wait, in percent, 1 to 100")
	durationFlag(flags, &f.ttl, "ttl", "time to live of a task; 0s: unlimited")
	durationFlag(flags, &f.retain, "result-retention", "how long results are retained; 0s: not at all")
	durationFlag(flags, &f.keyWindow, "key-window", "how long a task holds its idempotency key, at most 30d")
	numberFlag(flags, &f.historyMax, "history-max", 0, "number of finished tasks that each shard keeps in the history, at most 1000000; 0: no limit")
	durationFlag(flags, &f.historyRetention, "history-retention", "how long finished tasks stay in the history, at most 366d; 0s: no limit; if both are 0, the queue has no history")
	f.limit.define(flags, "", "of the queue")
	f.groupLimit.define(flags, "group-", "of each group: of the tasks with the same header group")
	flags.BoolVar(&f.reset, "reset", false, "reset everything else to the server's defaults")
}

func (f *policyFlags) apply(flags *pflag.FlagSet, p *adminpb.QueuePolicy) {
	if p.Backoff == nil {
		p.Backoff = &queuepb.Backoff{}
	}
	set := func(name string, do func()) {
		if flags.Changed(name) {
			do()
		}
	}
	set("placement", func() { p.Placement = f.placement })
	set("max-attempts", func() { p.MaxAttempts = f.maxAttempts })
	set("lease", func() { p.LeaseMs = ms(f.lease) })
	set("backoff-initial", func() { p.Backoff.InitialMs = ms(f.backoffInitial) })
	set("backoff-max", func() { p.Backoff.MaxMs = ms(f.backoffMax) })
	set("backoff-multiplier", func() { p.Backoff.MultiplierPercent = f.multiplier })
	set("backoff-jitter", func() { p.Backoff.JitterPercent = f.jitter })
	set("ttl", func() { p.TtlMs = ms(f.ttl) })
	set("result-retention", func() { p.ResultRetentionMs = ms(f.retain) })
	set("key-window", func() { p.KeyWindowMs = ms(f.keyWindow) })
	set("history-max", func() { p.HistoryTasksMax = f.historyMax })
	set("history-retention", func() { p.HistoryRetentionMs = ms(f.historyRetention) })
	f.limit.apply(flags, "", &p.Limit)
	f.groupLimit.apply(flags, "group-", &p.GroupLimit)
}

// limitFlags are the flags for a limit of leases.
type limitFlags struct {
	leasedMax, burst uint32
	rate             float64
}

func (f *limitFlags) define(flags *pflag.FlagSet, prefix, of string) {
	numberFlag(flags, &f.leasedMax, prefix+"leased-max", 0, "largest number of tasks "+of+" that are leased at once; 0: unlimited")
	flags.Var(rateValue{&f.rate}, prefix+"rate", "largest number of leases "+of+" per second, 0.001 to 1000000; 0: unlimited")
	numberFlag(flags, &f.burst, prefix+"burst", 0, "leases "+of+" that may start together; default: those of one second")
}

func (f *limitFlags) apply(flags *pflag.FlagSet, prefix string, to **adminpb.Limit) {
	set := func(name string, do func(l *adminpb.Limit)) {
		if flags.Changed(prefix + name) {
			if *to == nil {
				*to = &adminpb.Limit{}
			}
			do(*to)
		}
	}
	set("leased-max", func(l *adminpb.Limit) { l.LeasedMax = f.leasedMax })
	set("rate", func(l *adminpb.Limit) { l.RatePerS = f.rate })
	set("burst", func(l *adminpb.Limit) { l.Burst = f.burst })
}

// rateValue is a flag for a number of leases per second.
type rateValue struct{ to *float64 }

func (v rateValue) Set(text string) error {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || n < 0 || math.IsInf(n, 0) || math.IsNaN(n) {
		return errors.New("is not a valid number")
	}
	*v.to = n
	return nil
}

func (rateValue) Type() string { return "number" }

func (v rateValue) String() string {
	if v.to == nil || *v.to == 0 {
		return ""
	}
	return strconv.FormatFloat(*v.to, 'f', -1, 64)
}

func (a queueCommands) configure() *cobra.Command {
	var f policyFlags
	c := &cobra.Command{
		Use:   "configure QUEUE",
		Short: "Change a queue's policy, or create a queue",
		Long: `Changes the parts of a queue's policy that the flags name. The other parts stay, or with --reset return to the
server's defaults. If the queue does not exist, the command creates it. Tasks that are already enqueued keep
the settings with which they were enqueued.

The policy is read, changed and written back: one of two changes at the same time may be lost.`,
		Example: `  queued queues configure mail --max-attempts 5 --backoff-initial 10s --backoff-max 1h
  queued queues configure ledger --placement ordered
  queued queues configure mail --history-max 10000 --history-retention 30d
  queued queues configure calls --rate 50 --group-leased-max 2
  queued queues configure mail --reset`,
		Args: oneArg("QUEUE"),
	}
	f.define(c.Flags())
	conn := a.connect(c, true, true)
	c.RunE = func(c *cobra.Command, args []string) error {
		flags := c.Flags()
		if !f.named(flags) {
			return usageError{errors.New("nothing to change: pass at least one of the policy's flags, or --reset")}
		}
		return conn.adminService(c, func(ctx context.Context, api adminpb.AdminServiceClient) error {
			policy := &adminpb.QueuePolicy{}
			if !f.reset {
				now, err := api.GetQueue(ctx, &adminpb.GetQueueRequest{Tenant: conn.tenant, Queue: args[0]})
				if s := statusOf(err); err != nil && (s == nil || s.Code() != codes.NotFound) {
					return err
				}
				if p := now.GetQueue().GetPolicy(); p != nil {
					policy = p
				}
			}
			f.apply(flags, policy)
			out, err := api.ConfigureQueue(ctx, &adminpb.ConfigureQueueRequest{Tenant: conn.tenant, Queue: args[0], Policy: policy})
			if err != nil {
				return err
			}
			return a.print(document(out), func(t *table) { queueRows(t, out.GetQueue()) })
		})
	}
	return c
}

// named reports whether the command line sets any flag for a policy.
func (*policyFlags) named(flags *pflag.FlagSet) (named bool) {
	own := pflag.NewFlagSet("policy", pflag.ContinueOnError)
	new(policyFlags).define(own)
	own.VisitAll(func(f *pflag.Flag) { named = named || flags.Changed(f.Name) })
	return named
}

// percentValue is a flag that is stored in percent. unit is the percentage that corresponds to the
// value 1.
type percentValue struct {
	to   *uint32
	unit float64
}

func (v percentValue) Set(text string) error {
	n, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
	if percent := math.Round(n * v.unit); err == nil && percent >= 0 && percent <= math.MaxUint32 && math.Abs(percent-n*v.unit) < 1e-6 {
		*v.to = uint32(percent)
		return nil
	}
	return errors.New("is not a valid number")
}

func (percentValue) Type() string { return "number" }

func (v percentValue) String() string {
	if v.to == nil || *v.to == 0 {
		return ""
	}
	return strconv.FormatFloat(float64(*v.to)/v.unit, 'f', -1, 64)
}
