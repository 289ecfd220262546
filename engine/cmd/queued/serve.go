package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/engine/node"
	"github.com/pronybench/prony/engine/storage"
)

// shutdownMax is how long streams and calls may take to end before their connections are cut.
const shutdownMax = 5 * time.Second

// gcPercent is how far the heap grows between collections. What the server keeps is little and bounded, so at
// Go's default of 100 it would collect dozens of times a second under load. GOGC overrides it.
const gcPercent = 400

type serveFlags struct {
	config      node.Config
	durability  string
	addressFile string
	logLevel    string
}

func serveCommand() *cobra.Command {
	var f serveFlags
	c := &cobra.Command{
		Use:   "serve",
		Short: "Run the server until SIGINT or SIGTERM",
		Example: `  queued serve                                  # ./data, 127.0.0.1:7070, fsync before each acknowledgement
  queued serve --listen unix:/run/queued.sock   # a Unix socket
  queued serve --durability interval            # fsync every 10 ms`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return f.serve() },
	}
	flags := c.Flags()
	flags.StringVar(&f.config.DataDir, "data", "./data", "data folder, made if need be")
	flags.StringArrayVar(&f.config.Listen, "listen", []string{"127.0.0.1:7070"}, "where clients connect: host:port or unix:/path; may be repeated")
	flags.StringVar(&f.config.Admin, "admin", "127.0.0.1:7071", `admin listener for probes, metrics and profiles; "" for none`)
	flags.StringVar(&f.durability, "durability", "sync", "when the server acknowledges: sync (after fsync), interval (fsync every --sync-interval), none (after the write reached the system)")
	flags.DurationVar(&f.config.SyncInterval, "sync-interval", storage.DefaultSyncInterval, "how often to fsync with --durability interval")
	flags.StringVar(&f.addressFile, "address-file", "", "write the pid and the addresses in use to this file, as JSON, once serving")
	flags.StringVar(&f.logLevel, "log-level", "info", "debug, info, warn or error")
	return c
}

func (f *serveFlags) serve() (err error) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.logLevel)); err != nil {
		return fmt.Errorf("--log-level %q is not debug, info, warn or error", f.logLevel)
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
	f.config.Log = log
	if f.config.Durability, err = storage.ParseDurability(f.durability); err != nil {
		return fmt.Errorf("--durability: %w", err)
	}
	if f.addressFile != "" { // what an earlier server left there says where it was, not where this one will be
		if err := os.Remove(f.addressFile); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove the old address file: %w", err)
		}
	}
	stop, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer cancel()
	n, err := node.Open(f.config)
	if err != nil {
		return err
	}
	log.Info("serving", "addresses", n.Addresses(), "admin", n.Admin(), "data", f.config.DataDir, "durability", f.durability)
	if f.addressFile != "" {
		if err := f.writeAddresses(n); err != nil {
			return errors.Join(err, shutdown(n))
		}
	}
	select {
	case <-stop.Done():
		log.Info("stopping")
	case err := <-n.Failed():
		// Not in order: a store that failed can't be closed, and nothing more may be answered from it.
		return fmt.Errorf("the server can't go on: %w", err)
	}
	cancel() // a second signal ends the process at once
	if err := shutdown(n); err != nil {
		return err
	}
	log.Info("stopped")
	return nil
}

func shutdown(n *node.Node) error {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownMax)
	defer cancel()
	return n.Shutdown(ctx)
}

// writeAddresses writes the file whole or not at all: who waits for it must not read a half.
func (f *serveFlags) writeAddresses(n *node.Node) error {
	text, err := json.Marshal(struct {
		PID    int      `json:"pid"`
		Listen []string `json:"listen"`
		Admin  string   `json:"admin"`
	}{os.Getpid(), n.Addresses(), n.Admin()})
	if err != nil {
		return fmt.Errorf("write the address file: %w", err)
	}
	tmp := filepath.Join(filepath.Dir(f.addressFile), "."+filepath.Base(f.addressFile)+".tmp")
	if err := os.WriteFile(tmp, append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("write the address file: %w", err)
	}
	if err := os.Rename(tmp, f.addressFile); err != nil {
		return fmt.Errorf("write the address file: %w", err)
	}
	return nil
}
