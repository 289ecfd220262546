package soak

import (
	"context"

	"github.com/pronybench/prony/harness/result"
)

// Stand is the servers of a soak, which stay up from window to window. One goroutine uses it.
type Stand interface {
	// Manifest describes the host, the builds and the servers.
	Manifest() result.Manifest
	// Measure measures the window of that number, with the scenario's faults or without, and drains the load. An error says that no further
	// window can be measured, or that ctx ended.
	Measure(ctx context.Context, number int, faults bool) (Window, error)
	// Recover closes the account of a window that a harness did not finish, and returns false if there is none. It is called once, before the
	// first Measure.
	Recover(ctx context.Context) (w Window, found bool, err error)
	// Close stops the servers, and keeps their data if a later process is to go on with them.
	Close(ctx context.Context, keep bool) error
}

// Window is what was measured in one window. It is stored as a file of the folder windows.
type Window struct {
	Version int          `json:"version"`
	Number  int          `json:"number"` // 1 is the first
	Faults  bool         `json:"faults,omitempty"`
	Round   result.Round `json:"round"`
	// Histograms are those of the round, as result.Histograms.Encode writes them; nil of a window that was cut before it had any.
	Histograms map[string]string `json:"histograms,omitempty"`
	// Processes are the harness and each server at the end of the window.
	Processes []Process `json:"processes"`
	// Warnings are what a reader of the window should know. Only the file of the window has them.
	Warnings []string `json:"warnings,omitempty"`
	// Events are what happened besides, a sentence each.
	Events []string `json:"events,omitempty"`
	// ServerEnds is how many servers ended by themselves in the window or before it.
	ServerEnds int `json:"server_ends,omitempty"`
	// Cut says that the window was not measured to its end. Only its ledger counts.
	Cut bool `json:"cut,omitempty"`
}

// HarnessName is the name of the harness's own process among the processes of a window.
const HarnessName = "harness"

// Process is what one process held at the end of a window.
type Process struct {
	Name       string `json:"name"` // HarnessName, or that of the server's node
	RSSBytes   int64  `json:"rss_bytes"`
	FDs        int    `json:"fds"`
	Goroutines int    `json:"goroutines"`
	DataBytes  int64  `json:"data_bytes,omitempty"` // allocated to the data folder of a server
}

// windowVersion is the version of a stored Window.
const windowVersion = 1
