// Package doctor checks a host and a data folder before a server runs there, or beside one that does.
//
// Each check is fit, unfit, a warning or unknown, and says what to do. Checks look and measure; the only things they write are
// files of their own in the data folder, which they remove, and the lock of stores that no server holds.
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

// Level is how a check came out.
type Level string

// The levels, in the words of 'prony doctor'.
const (
	Fit     Level = "fit"
	Warning Level = "warning" // a server would run, and something is not as it should be
	Unfit   Level = "unfit"   // a server would not run, or would lose something
	Unknown Level = "unknown" // it could not be found out
)

// Finding is what one check found.
type Finding struct {
	Check string `json:"check"`
	Level Level  `json:"level"`
	// Value is what was measured, and Limit the least or the most that is fit; "" for a check without figures.
	Value   string `json:"value,omitempty"`
	Limit   string `json:"limit,omitempty"`
	Message string `json:"message"`
	Remedy  string `json:"remedy,omitempty"`
}

// Input is what is checked.
type Input struct {
	// Config is the server's; nil when it is wrong, which Problems then say.
	Config   *config.Config
	Problems *config.Problems
	// File names the configuration file, or is "".
	File string
	// Warnings are the configuration's.
	Warnings []config.Problem
	// Program is this program.
	Program Program
	// ServerProgram asks a server that runs for its program; nil when there is no way to ask. Its error, and those of the functions
	// below, may be an *AskError.
	ServerProgram func(ctx context.Context) (Program, error)
	// ServerClock queries the clock of a running server, by which leases and delays end; nil if the server cannot be queried.
	ServerClock func(ctx context.Context) (time.Time, error)
	// ClusterClocks asks a server that runs what it knows of the clocks of its cluster's other nodes; nil when there is no way to
	// ask.
	ClusterClocks func(ctx context.Context) ([]NodeClock, error)
	// Host is where the checks look.
	Host Host
}

// NodeClock is what a node of a cluster knows of another one's clock.
type NodeClock struct {
	Node string
	// Known is set if the node has reported its time recently.
	Known bool
	// Ahead is how far its clock is ahead of the clock of the answering node, and Error the bound on the error of Ahead.
	Ahead, Error time.Duration
	// Problem is why its clock does not allow it to lead, as the node reports it; "" if the node may lead.
	Problem string
}

// Program says which program runs: the version that it names itself, and its content.
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

// AskError says why a running server could not be asked, and what to do about it.
type AskError struct{ Reason, Remedy string }

func (e *AskError) Error() string { return e.Reason }

// unasked adds the finding of a check for which a running server did not answer.
func (r *report) unasked(check, what string, err error) {
	remedy := "pass an operator's token in QUEUED_TOKEN"
	if ask := (*AskError)(nil); errors.As(err, &ask) {
		remedy = ask.Remedy
	}
	r.add(check, Unknown, fmt.Sprintf("%s: %v", what, err), remedy)
}

// report collects findings.
type report []Finding

func (r *report) add(check string, level Level, message, remedy string) {
	*r = append(*r, Finding{Check: check, Level: level, Message: message, Remedy: remedy})
}

// measured adds figures to the finding that was added last.
func (r *report) measured(value, limit string) {
	last := &(*r)[len(*r)-1]
	last.Value, last.Limit = value, limit
}

// Run makes all checks. Those of the data folder take time proportional to its content; ctx ends them early.
func Run(ctx context.Context, in Input) []Finding {
	var r report
	r.configuration(&in)
	r.clock(in.Host)
	r.cpus(in.Host)
	if in.Config == nil {
		r.add("data folder", Warning, "not looked at: the configuration does not say which it is", "put the configuration right, and run this again")
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
	} else { // to read a store, its lock file is written: a backup with one could not be restored any more
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

// existing returns the folder, or the nearest one above it that is there.
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
