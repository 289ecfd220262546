package soak

import (
	"context"

	"github.com/pronybench/prony/harness/result"
)

// Stand runs the servers of a soak, which stay up from window to window. Its methods must not be
// called concurrently.
type Stand interface {
	// Manifest describes the host, the builds and the servers.
	Manifest() result.Manifest
	// Measure measures the window of that number, with or without the scenario's faults, and drains
	// the load. An error means that no further window can be measured, or that ctx ended.
	Measure(ctx context.Context, number int, faults bool) (Window, error)
	// Recover closes the account of a window that an earlier harness did not finish. It returns
	// false if there is none. It is called once, before the first Measure.
	Recover(ctx context.Context) (w Window, found bool, err error)
	// Close stops the servers. With keep it preserves their data for a later process.
	Close(ctx context.Context, keep bool) error
}

// Window is the outcome of one window. It is stored as a file in the folder windows.
type Window struct {
	Version int          `json:"version"`
	Number  int          `json:"number"` // counted from 1
	Faults  bool         `json:"faults,omitempty"`
	Round   result.Round `json:"round"`
	// Histograms are those of the round, encoded by result.Histograms.Encode; nil if the window was
	// cut short before it had any.
	Histograms map[string]string `json:"histograms,omitempty"`
	// Processes are the harness and the servers at the end of the window.
	Processes []Process `json:"processes"`
	// Warnings are notes for a reader of the window. Only the file of the window has them.
	Warnings []string `json:"warnings,omitempty"`
	// Events describe unusual events in the window, one sentence each.
	Events []string `json:"events,omitempty"`
	// ServerEnds counts the servers that ended unplanned in the window or before it.
	ServerEnds int `json:"server_ends,omitempty"`
	// Cut reports that the window was cut short. Only its ledger counts.
	Cut bool `json:"cut,omitempty"`
}

// HarnessName is the name of the harness among the processes of a window.
const HarnessName = "harness"

// Process describes the resources of one process at the end of a window.
type Process struct {
	Name       string `json:"name"` // HarnessName or the name of the server's node
	RSSBytes   int64  `json:"rss_bytes"`
	FDs        int    `json:"fds"`
	Goroutines int    `json:"goroutines"`
	DataBytes  int64  `json:"data_bytes,omitempty"` // allocated to a server's data folder
}

// windowVersion is the version of a stored Window.
const windowVersion = 1
