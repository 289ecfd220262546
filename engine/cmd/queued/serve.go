package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pronybench/prony/engine/config"
	"github.com/pronybench/prony/engine/internal/setting"
	"github.com/pronybench/prony/engine/memory"
	"github.com/pronybench/prony/engine/node"
	"github.com/pronybench/prony/engine/version"
)

// shutdownMax limits the wait for streams and calls to end. After it, their connections are closed.
const shutdownMax = 5 * time.Second

// gcPercent is the heap growth in percent that starts a garbage collection. The server's live heap
// is small and bounded; with Go's default of 100, it would collect garbage dozens of times a second
// under load. The variable GOGC overrides this value.
const gcPercent = 400

// serverCommands contains the commands that run, check or copy a server.
type serverCommands struct{ *app }

func (a serverCommands) serve() *cobra.Command {
	loader := config.NewLoader()
	c := &cobra.Command{
		Use:   "serve",
		Short: "Run the server until SIGINT or SIGTERM",
		Long: `Runs the server until SIGINT or SIGTERM, which stop it in order. It needs no configuration: it serves
./data on this host's loopback address.

At the first start it writes an operator's access token to DATA/admin.token. The other commands read the token
there, or from --token-file. To serve other hosts, the server needs a certificate.

Each setting is a flag, an environment variable (--sync-interval is QUEUED_SYNC_INTERVAL) and a name in the
file of --config (sync_interval; --tls-cert is cert in the block tls). The flag overrides the
variable, and the variable overrides the file. 'queued config show' prints the values in effect.`,
		Example: `  queued serve                                             # ./data, fsync before each acknowledgement
  queued serve --config /etc/queued.hcl
  queued serve --listen 127.0.0.1:7070,unix:/run/queued.sock
  queued serve --durability interval --shards 2            # fsync every 10 ms; two cores' worth
  queued serve --listen :7070 --tls-cert cert.pem --tls-key key.pem
  queued serve --cluster-node n1 --cluster-certs certs/n1 --cluster-peers n1=127.0.0.1:7073,n2=127.0.0.1:8073,n3=127.0.0.1:9073`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			loaded, err := loader.Load(a.env, clientVariables())
			if err != nil {
				return err
			}
			return a.run(c.Context(), loaded)
		},
	}
	settingFlags(c, loader)
	return c
}

// settingFlags adds the flags of all settings to a command, under the headings of their groups.
func settingFlags(c *cobra.Command, loader *config.Loader) {
	all := pflag.NewFlagSet("settings", pflag.ContinueOnError)
	all.SortFlags = false
	loader.AddFlags(all)
	c.Flags().SortFlags = false
	add := func(name, heading string) {
		f := all.Lookup(name)
		f.Annotations = map[string][]string{groupKey: {heading}}
		c.Flags().AddFlag(f)
	}
	add(config.FileFlag, "Configuration")
	for _, s := range loader.Settings() {
		add(s.Flag(), s.Group)
	}
	all.VisitAll(func(f *pflag.Flag) {
		if f.Hidden { // the flag of a removed setting
			c.Flags().AddFlag(f)
		}
	})
}

func (a serverCommands) logger(c *config.Config) *slog.Logger {
	options := &slog.HandlerOptions{Level: c.LogLevel}
	if c.LogFormat == config.LogJSON {
		return slog.New(slog.NewJSONHandler(a.err, options))
	}
	return slog.New(slog.NewTextHandler(a.err, options))
}

func (a serverCommands) run(ctx context.Context, loaded *config.Loaded) error {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	c := loaded.Config
	log := a.logger(c)
	c.Node.Log = log
	for _, w := range loaded.Warnings {
		log.Warn("configuration", "at", w.At, "problem", w.Message, "remedy", w.Remedy)
	}
	if c.AddressFile != "" { // the file of an earlier server contains outdated addresses
		if err := os.Remove(c.AddressFile); err != nil && !errors.Is(err, os.ErrNotExist) {
			return loaded.Explain(addressFileError(fmt.Errorf("remove the old address file: %w", err)))
		}
	}
	if err := limitGo(c, log); err != nil {
		return loaded.Explain(err)
	}
	c.Node.Settings = running(loaded)
	n, err := node.Open(c.Node)
	if err != nil {
		return loaded.Explain(err)
	}
	log.Info("serving", "addresses", n.Addresses(), "http", n.HTTP(), "admin", n.Admin(), "data", c.Node.DataDir, "durability", c.Node.Durability, "version", version.Of().String())
	if c.AddressFile != "" {
		if err := writeAddresses(c.AddressFile, n, loaded); err != nil {
			return errors.Join(loaded.Explain(addressFileError(err)), shutdown(n))
		}
	}
	select {
	case <-ctx.Done():
		log.Info("stopping")
	case err := <-n.Failed():
		// Do not stop in order: a failed store cannot be closed, and the server must not answer
		// from it.
		return fmt.Errorf("the server can't go on: %w", err)
	}
	if err := shutdown(n); err != nil {
		return err
	}
	log.Info("stopped")
	return nil
}

// addressFileError adds the setting to change, the path of the address file, to an error. If the
// error may be temporary, it returns the error unchanged.
func addressFileError(err error) error {
	const remedy = "name a file with --address-file that the user of the server may write, in a folder that exists"
	if errors.Is(err, os.ErrNotExist) {
		return setting.Wrap(err, remedy, "address_file")
	}
	return setting.Path(err, remedy, "address_file")
}

// limitGo sets the soft memory limit of the Go runtime, unless GOMEMLIMIT is set. Near this limit,
// the runtime collects garbage more often.
func limitGo(c *config.Config, log *slog.Logger) error {
	total, err := c.Node.Memory.Resolve()
	if err != nil {
		return setting.Errorf("memory", "", "memory: %w", err)
	}
	share := memory.SharesOf(total, c.Node.Shards, c.Node.Cluster.On())
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(share.GoBytes)
	}
	log.Info("memory", "limit_bytes", total, "go_limit_bytes", debug.SetMemoryLimit(-1))
	return nil
}

func shutdown(n *node.Node) error {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownMax)
	defer cancel()
	return n.Shutdown(ctx)
}
