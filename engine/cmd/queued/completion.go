package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pronybench/prony/engine/adminpb"
)

// A completion must be fast enough for typing. A server that does not answer in time yields no
// completions.
const (
	completionTimeout = time.Second
	completionsMax    = 100
)

// completions completes command lines in a shell.
type completions struct{ *app }

// completer returns the completions of the typed text.
type completer = func(c *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective)

// complete adds the completion of flags and arguments to root and all its subcommands. For all
// other arguments, the shell completes file names.
func (a completions) complete(root *cobra.Command) {
	for _, c := range root.Commands() {
		a.complete(c)
	}
	c := root
	c.Flags().VisitAll(func(f *pflag.Flag) { a.completeFlag(c, f) })
	c.PersistentFlags().VisitAll(func(f *pflag.Flag) { a.completeFlag(c, f) })
	switch {
	case strings.HasSuffix(c.Use, " QUEUE"):
		c.ValidArgsFunction = func(c *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return a.completeQueue(c, args, typed)
		}
	case !strings.Contains(c.Use, "FILE") && c.ValidArgsFunction == nil:
		c.ValidArgsFunction = cobra.NoFileCompletions
	}
}

func (a completions) completeFlag(c *cobra.Command, f *pflag.Flag) {
	of := func(words []string) completer {
		return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
	}
	var complete completer
	choices, chosen := f.Value.(interface{ Choices() []string })
	switch {
	case chosen && len(choices.Choices()) > 0:
		complete = of(choices.Choices())
	case f.Name == "output":
		complete = of([]string{string(formatTable), string(formatJSON)})
	case f.Name == "scope":
		complete = of(scopeNames())
	case f.Name == "queue":
		complete = a.completeQueue
	default:
		return
	}
	if err := c.RegisterFlagCompletionFunc(f.Name, complete); err != nil {
		panic(err) // cannot happen, since the flag exists
	}
}

// completeQueue asks the admin service for the queues whose names start with the typed text.
func (a completions) completeQueue(c *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	holder := &cobra.Command{}
	conn := a.connect(holder, true, true)
	conn.fromEnvironment(holder.Flags())
	c.Flags().Visit(func(f *pflag.Flag) { // the flags that were already typed
		if f.Name == "admin-server" {
			conn.adminServers = splitServers(f.Value.String())
		}
		to := map[string]*string{
			"tenant": &conn.tenant, "token": &conn.token, "token-file": &conn.tokenFile,
			"tls-ca": &conn.tlsCA, "tls-cert": &conn.tlsCert, "tls-key": &conn.tlsKey,
		}[f.Name]
		if to != nil {
			*to = f.Value.String()
		}
	})
	conn.timeout = completionTimeout
	var names []cobra.Completion
	err := conn.withAdmin(a.interrupted, func(ctx context.Context, api adminpb.AdminServiceClient) error {
		out, err := api.ListQueues(ctx, &adminpb.ListQueuesRequest{Tenant: conn.tenant, Prefix: typed, PageSize: completionsMax})
		for _, q := range out.GetQueues() {
			names = append(names, q.GetQueue())
		}
		return err
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp // an error would disturb the typed line
	}
	slices.Sort(names)
	return slices.Compact(names), cobra.ShellCompDirectiveNoFileComp
}
