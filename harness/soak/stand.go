package soak

import (
	"context"

	"github.com/pronybench/prony/harness/result"
)

// Stand runs the servers of a soak. The servers remain up from window to window. The methods must
// not be called concurrently.
type Stand interface {
	// Manifest describes the host, the builds and the servers.
	Manifest() result.Manifest
	// Measure measures the window with the given number and drains its load. If faults is true, it
	// injects the scenario's faults. An error means that no further window can be measured, or that
	// ctx is done.
	Measure(ctx context.Context, number int, faults bool) (Window, error)
	// Recover closes the account of a window that an earlier harness did not finish. found is false
	// if all windows were finished. Recover is called once, before the first Measure.
	Recover(ctx context.Context) (w Window, found bool, err error)
	// Close stops the servers. If keep is true, it preserves their data for a later process.
	Close(ctx context.Context, keep bool) error
}

// Window is the outcome of one window. It is stored as a file in the folder windows.
type Window struct {
	Version int          `json:"version"`
	Number  int          `json:"number"` // counted from 1
	Faults  bool         `json:"faults,omitempty"`
	Round   result.Round `json:"round"`
	// Histograms are the histograms of the round, encoded by result.Histograms.Encode. They are nil
	// if the window was cut short before there were any.
	Histograms map[string]string `json:"histograms,omitempty"`
	// Processes describes the harness and the servers at the end of the window.
	Processes []Process `json:"processes"`
	// Warnings are notes for a reader of the window. They are only in the file of the window.
	Warnings []string `json:"warnings,omitempty"`
	// Events describes unusual events in the window. Each element is one sentence.
	Events []string `json:"events,omitempty"`
	// ServerEnds is the number of unplanned ends of servers in the window or before it.
	ServerEnds int `json:"server_ends,omitempty"`
	// Cut is set if the window was cut short. In that case only its ledger counts.
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
	// bytes allocated to the data folder of a server
	DataBytes int64 `json:"data_bytes,omitempty"`
}

// windowVersion is the version of the format of a stored Window.
const windowVersion = 1
