package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronybench/prony/harness/report"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/serial"
)

func serialCommand(args []string) *cobra.Command {
	var asJSON bool
	o := serial.Options{Command: args}
	c := &cobra.Command{
		Use:   "serial [RESULT]",
		Short: "Measure how much work per request a shard's deciding goroutine can do",
		Long: `Builds the server of the working tree with the tag serialbudget, which accepts no-op requests. They pass the stream, the inbox,
the deciding goroutine and the stream back, and store nothing. The deciding goroutine computes a calibrated amount of work for
each request. The command searches for the largest amount that keeps 95 % of the rate without work, over a Unix socket, in pairs
of slices of 20 ms without and with work. It ends a search when the 95 % interval of the budget is within 2.5 % on each side.

With parking waits, threads that wait for data sleep. With spinning waits, the connections of server and generator first poll for
a moment (busy_poll). A server only polls with GOMAXPROCS 1 on a host with several CPUs, and while one of its connections is
busy; other points are skipped. Each combination of the flags' values is a point.

The result's folder has serial.json. RESULT is such a folder: the command shows it again and measures nothing. Nothing is judged.`,
		Example: `  prony serial
  prony serial --waits parking --server-procs 1,2 --connections 1,4,16
  prony serial --json --search 10s --window 1s
  prony serial runs/20261126T040000.000Z-serial`,
		Args: arguments{what: "result folder", most: 1}.check,
		RunE: func(c *cobra.Command, folders []string) (err error) {
			var s *result.Serial
			if len(folders) == 1 {
				s, err = result.ReadSerial(folders[0])
			} else {
				s, err = measureSerial(c.Context(), o, c.ErrOrStderr())
			}
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(c, s)
			}
			if _, err := fmt.Fprint(c.OutOrStdout(), report.Serial(s).Terminal()); err != nil {
				return fmt.Errorf("write the serial budget: %w", err)
			}
			return nil
		},
	}
	waits := []string{result.WaitsParking, result.WaitsSpinning}
	c.Flags().StringVar(&o.Out, "out", defaultOut, "parent folder for the result's folder")
	c.Flags().StringSliceVar(&o.Waits, "waits", waits, "how threads wait for data")
	c.Flags().IntSliceVar(&o.ServerProcs, "server-procs", []int{1}, "GOMAXPROCS of the server: each thread does I/O and all other work")
	c.Flags().IntSliceVar(&o.GeneratorProcs, "generator-procs", []int{1}, "GOMAXPROCS of the load generator")
	c.Flags().IntSliceVar(&o.Connections, "connections", []int{1}, "connections, each with one stream")
	c.Flags().IntSliceVar(&o.InFlight, "in-flight", []int{256}, "unanswered requests of each connection")
	c.Flags().DurationVar(&o.Search, "search", 45*time.Second, "time limit of one point's search")
	c.Flags().DurationVar(&o.Window, "window", 2*time.Second, "length of each of the two windows of a point: without work and at the budget")
	c.Flags().Uint64Var(&o.Seed, "seed", 1, "seed of the order of slices")
	jsonFlag(c, &asJSON)
	completeFlag(c, "waits", oneOf(waits...))
	return c
}

// measureSerial builds the programs and measures.
func measureSerial(ctx context.Context, o serial.Options, stderr io.Writer) (_ *result.Serial, err error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	b, err := newBuilder(ctx, serial.BuildTag)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.close(ctx)) }()
	err = b.building(stderr, func() error {
		here, err := b.here(ctx, "serial")
		if err != nil {
			return err
		}
		o.Build = here.build
		if o.Server, err = b.server(ctx, here, 0); err != nil {
			return err
		}
		o.Generator, err = b.generator(ctx, here)
		return err
	})
	if err != nil {
		return nil, err
	}
	o.Progress = stderr
	s, folder, err := serial.Measure(ctx, o)
	if folder != "" {
		say(stderr, "result folder %s", folder)
	}
	return s, err
}
