// Package k6api is what the extension uses of k6. No other package imports k6's modules by their path, so that the next
// major version of k6 is one edit.
package k6api

import (
	"go.k6.io/k6/cmd"
	"go.k6.io/k6/js/common"
	"go.k6.io/k6/js/modules"
	"go.k6.io/k6/js/promises"
	"go.k6.io/k6/lib"
	"go.k6.io/k6/lib/types"
	"go.k6.io/k6/metrics"
)

// What a module is, and what it gets.
type (
	Module   = modules.Module
	Instance = modules.Instance
	Exports  = modules.Exports
	VU       = modules.VU
	State    = lib.State
)

// What samples are made of.
type (
	Metric      = metrics.Metric
	Registry    = metrics.Registry
	Sample      = metrics.Sample
	Samples     = metrics.Samples
	TimeSeries  = metrics.TimeSeries
	TagSet      = metrics.TagSet
	TagsAndMeta = metrics.TagsAndMeta
)

// The kinds of metrics, and of what they hold.
const (
	Counter = metrics.Counter
	Trend   = metrics.Trend
	Time    = metrics.Time
)

var (
	// Register makes a module known to scripts under a name.
	Register = modules.Register
	// NewPromise returns a promise that is settled on the script's event loop.
	NewPromise = promises.New
	// ParseDuration reads a duration as k6's options have it: "1m30s", also with days.
	ParseDuration = types.ParseExtendedDuration
	// Push sends samples unless the context is done.
	Push = metrics.PushIfNotDone
	// Throw throws a Go error in the script.
	Throw = common.Throw
	// Execute is k6's command line.
	Execute = cmd.Execute
)
