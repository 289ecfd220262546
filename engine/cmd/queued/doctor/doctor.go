// Package doctor checks a host and a data folder for a server. The server need not be running.
//
// Each finding has a level (fit, warning, unfit or unknown) and, if needed, a remedy. The checks
// only read and measure. In the data folder they write temporary files, which they remove, and the
// lock files of stores that no server has open.
// stores that no server has open.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/pronybench/prony/engine/config"
	"github.com/pronybench/prony/engine/internal/build"
)

// Level is the outcome of a check.
type Level string

// These levels have the same names as those of 'prony doctor'.
const (
	Fit     Level = "fit"
	Warning Level = "warning" // a server would run, but something needs attention
	Unfit   Level = "unfit"   // a server would not run or would lose data
	Unknown Level = "unknown" // the check could not be made
)

// Finding is the result of one check.
type Finding struct {
	Check string `json:"check"`
	Level Level  `json:"level"`
	// Value is the measured value. Limit is the smallest or largest value that is fit. Both are ""
	// for a check without numbers.
	Value   string `json:"value,omitempty"`
	Limit   string `json:"limit,omitempty"`
	Message string `json:"message"`
	Remedy  string `json:"remedy,omitempty"`
}

// Input contains what the checks need.
type Input struct {
	// Config is the server's configuration. If the configuration is invalid, Config is nil and
	// Problems contains the reasons.
	Config   *config.Config
	Problems *config.Problems
	// File is the path of the configuration file, or "".
	File string
	// Warnings are the warnings of the configuration.
	Warnings []config.Problem
	// Program identifies the program that runs the checks.
	Program Program
	// ServerProgram asks a running server for its program; nil means that the server cannot be
	// asked. The error of this function, and of the functions below, may be an *AskError.
	ServerProgram func(ctx context.Context) (Program, error)
	// ServerClock reads a running server's clock, which determines the times of leases and delays.
	// nil means that the server cannot be asked.
	ServerClock func(ctx context.Context) (time.Time, error)
	// ClusterClocks asks a running server for the clocks of the other nodes of its cluster. nil
	// means that the server cannot be asked.
	ClusterClocks func(ctx context.Context) ([]NodeClock, error)
	// Host is the host to check.
	Host Host
}

// NodeClock describes a node's clock as the asked node knows it.
type NodeClock struct {
	Node string
	// Known is true if the node has recently reported its time to the asked node.
	Known bool
	// Ahead is the time of the node's clock minus the time of the asked node's clock. Error is the
	// maximum error of Ahead.
	Ahead, Error time.Duration
	// Problem is the reason why the node's clock prevents the node from leading, as the node
	// reports it; "" if it may lead.
	Problem string
}

// Program identifies a program by its version and the content of its file.
type Program struct {
	Version string
	Build   build.Info
}

func (p Program) String() string {
	if !p.Build.Known() {
		return p.Version
	}
	return p.Version + ", " + p.Build.String()
}

// AskError is the reason why a running server could not be asked, and the remedy.
type AskError struct{ Reason, Remedy string }

func (e *AskError) Error() string { return e.Reason }

// unasked adds the finding of a check that a running server did not answer.
func (r *report) unasked(check, what string, err error) {
	remedy := "pass an operator's token in QUEUED_TOKEN"
	if ask := (*AskError)(nil); errors.As(err, &ask) {
		remedy = ask.Remedy
	}
	r.add(check, Unknown, fmt.Sprintf("%s: %v", what, err), remedy)
}

type report []Finding

func (r *report) add(check string, level Level, message, remedy string) {
	*r = append(*r, Finding{Check: check, Level: level, Message: message, Remedy: remedy})
}

// measured adds the value and the limit to the last finding.
func (r *report) measured(value, limit string) {
	last := &(*r)[len(*r)-1]
	last.Value, last.Limit = value, limit
}

// Run makes all checks. Checking the stores takes time proportional to their size. If ctx ends, Run
// skips the remaining checks.
func Run(ctx context.Context, in Input) []Finding {
	var r report
	r.configuration(&in)
	r.clock(in.Host)
	r.cpus(in.Host)
	if in.Config == nil {
		r.add("data folder", Warning, "not checked: the configuration does not name it", "correct the configuration and run this again")
		return r
	}
	c := &in.Config.Node
	r.files(in.Host, c.Shards)
	r.memory(in.Host)
	folder := r.dataFolder(in.Host, c.DataDir)
	if folder != "" {
		r.space(in.Host, folder, c.DiskLow, c.DiskCritical)
		r.fileSystem(in.Host, folder, c.Durability)
		r.fsync(ctx, folder, c.Durability)
		r.stores(ctx, c)
	} else {
		// Do not read the stores: this would write lock files, and a backup could then no longer be
		// restored into the folder.
		r.add("stores", Unknown, "not read: the data folder cannot be used", "")
	}
	r.token(c)
	r.certificates(in.Host, c.TLS)
	answered := r.ports(ctx, c)
	r.serverClock(ctx, &in, answered)
	r.cluster(ctx, &in, answered)
	r.version(ctx, &in, answered)
	return r
}

func (r *report) configuration(in *Input) {
	const check = "configuration"
	if in.Problems != nil {
		for _, p := range in.Problems.List {
			r.add(check, Unfit, p.At+": "+p.Message, p.Remedy)
		}
		return
	}
	for _, w := range in.Warnings {
		r.add(check, Warning, w.At+": "+w.Message, w.Remedy)
	}
	message := "well; no file"
	if in.File != "" {
		message = "well; file " + in.File
	}
	r.add(check, Fit, message, "")
}

// existing returns dir if it exists. Otherwise it returns the nearest ancestor that exists.
func existing(dir string) string {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "."
	}
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}
