// Package doctor checks a host and a data folder for a server, before it starts or while it runs.
//
// Each finding is fit, unfit, a warning or unknown, and has a remedy. The checks only read and
// measure. They write temporary files in the data folder, which they remove, and the lock files of
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

// The levels, with the names that 'prony doctor' uses.
const (
	Fit     Level = "fit"
	Warning Level = "warning" // a server would run, but something needs attention
	Unfit   Level = "unfit"   // a server would not run, or would lose data
	Unknown Level = "unknown" // the check could not be made
)

// Finding is the result of one check.
type Finding struct {
	Check string `json:"check"`
	Level Level  `json:"level"`
	// Value is the measured value, and Limit its smallest or largest fit value; "" for a check
	// without numbers.
	Value   string `json:"value,omitempty"`
	Limit   string `json:"limit,omitempty"`
	Message string `json:"message"`
	Remedy  string `json:"remedy,omitempty"`
}

// Input has what the checks need.
type Input struct {
	// Config is the server's configuration; nil if it is invalid, in which case Problems has the
	// reasons.
	Config   *config.Config
	Problems *config.Problems
	// File is the path of the configuration file, or "".
	File string
	// Warnings are the warnings of the configuration.
	Warnings []config.Problem
	// Program is this program.
	Program Program
	// ServerProgram asks a running server for its program; nil if it cannot be asked. Its error,
	// and the errors of the functions below, may be an *AskError.
	ServerProgram func(ctx context.Context) (Program, error)
	// ServerClock reads a running server's clock, which leases and delays use; nil if the server
	// cannot be asked.
	ServerClock func(ctx context.Context) (time.Time, error)
	// ClusterClocks asks a running server for the clocks of its cluster's other nodes; nil if it
	// cannot be asked.
	ClusterClocks func(ctx context.Context) ([]NodeClock, error)
	// Host is the host to check.
	Host Host
}

// NodeClock is one node's view of another node's clock.
type NodeClock struct {
	Node string
	// Known is set if the node has reported its time recently.
	Known bool
	// Ahead is how far its clock is ahead of the answering node's clock, and Error the bound of the
	// error of Ahead.
	Ahead, Error time.Duration
	// Problem is why its clock prevents it from leading, as the node reports it; "" if it does not.
	Problem string
}

// Program identifies a program by its version and its content.
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

// unasked adds the finding of a check for which a running server gave no answer.
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

// measured adds numbers to the last finding.
func (r *report) measured(value, limit string) {
	last := &(*r)[len(*r)-1]
	last.Value, last.Limit = value, limit
}

// Run makes all checks. The checks of the stores take time proportional to their size; ctx ends
// them early.
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
		// Reading a store writes its lock file, after which a backup could no longer be restored.
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

// existing returns dir, or its nearest ancestor that exists.
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
