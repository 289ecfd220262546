package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pronybench/prony/harness/run"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/soak"
)

// soakLogBytesMax is the maximum size of each server log of a soak. A larger log is emptied.
const soakLogBytesMax = 16 << 20

// deployed implements soak.Stand with servers that run.Deploy started.
type deployed struct {
	*run.Deployment

	logs string // glob pattern of the servers' logs
}

func deploySoak(ctx context.Context, s *scenario.Scenario, servers soakServers) (soak.Stand, error) {
	d, err := run.Deploy(ctx, s, run.DeploymentOptions{Folder: servers.dir, Server: servers.binary, Command: servers.command})
	if err != nil {
		return nil, err
	}
	return &deployed{d, filepath.Join(servers.dir, "logs", "*")}, nil
}

// Measure implements soak.Stand.
func (d *deployed) Measure(ctx context.Context, number int, faults bool) (soak.Window, error) {
	if err := d.boundLogs(); err != nil {
		return soak.Window{}, err
	}
	w, err := d.Deployment.Measure(ctx, number, faults)
	if err != nil {
		return soak.Window{}, err
	}
	return soakWindow(&w)
}

// Recover implements soak.Stand.
func (d *deployed) Recover(ctx context.Context) (soak.Window, bool, error) {
	recovered, found, err := d.Deployment.Recover(ctx)
	if err != nil || !found {
		return soak.Window{}, found, err
	}
	w, err := soakWindow(&recovered)
	return w, true, err
}

// Close implements soak.Stand.
func (d *deployed) Close(ctx context.Context, keep bool) error {
	if keep {
		d.Keep()
	}
	return d.Deployment.Close(ctx)
}

// boundLogs empties logs above soakLogBytesMax. Servers open them in append mode.
func (d *deployed) boundLogs() error {
	logs, err := filepath.Glob(d.logs)
	if err != nil {
		return fmt.Errorf("bound the servers' logs: %w", err)
	}
	for _, log := range logs {
		info, err := os.Stat(log)
		if err == nil && info.Mode().IsRegular() && info.Size() > soakLogBytesMax {
			err = os.Truncate(log, 0)
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("bound the servers' logs: %w", err)
		}
	}
	return nil
}

// soakWindow converts a window to the form that package soak stores.
func soakWindow(w *run.DeploymentWindow) (soak.Window, error) {
	kept := soak.Window{Number: w.Round.Number, Round: w.Round, Cut: w.Interrupted, ServerEnds: len(w.Ends), Warnings: w.Warnings}
	if w.Histograms.Cycle != nil { // an interrupted window has none
		var err error
		if kept.Histograms, err = w.Histograms.Encode(); err != nil {
			return kept, fmt.Errorf("window %d: %w", w.Round.Number, err)
		}
	}
	for _, p := range w.Processes {
		kept.Processes = append(kept.Processes, soak.Process{
			Name: p.Node, RSSBytes: int64(p.RSSBytes), FDs: p.FDs, Goroutines: p.Goroutines, DataBytes: p.DataBytes,
		})
	}
	for _, end := range w.Ends {
		kept.Events = append(kept.Events, endText(end))
	}
	return kept, nil
}

// endText describes an unexpected end of a server.
func endText(end run.ServerEnd) string {
	name := "the server"
	if end.Node != "" {
		name = "server " + end.Node
	}
	text := fmt.Sprintf("%s ended by itself at %s UTC, %s, and was ready again after %v", name, end.Ended.UTC().Format("15:04:05"), end.Status,
		end.Down.Round(time.Millisecond))
	if end.Killed {
		text += "; SIGKILL comes from another process or the kernel"
	}
	if len(end.Lines) > 0 {
		text += ": " + strings.Join(end.Lines[max(0, len(end.Lines)-3):], " | ")
	}
	return text
}
