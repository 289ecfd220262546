// Package k6api is what the extension uses of k6. No other package imports k6's modules by their
// path, so that the next major version of k6 is one edit.
package k6api

import (
	"go.k6.io/k6/cmd"
	"go.k6.io/k6/js/modules"
	"go.k6.io/k6/lib"
	"go.k6.io/k6/lib/types"
	"go.k6.io/k6/metrics"
)

type (
	// Instance is what an extension is to one VU.
	Instance = modules.Instance
	// Exports is what a script finds in it.
	Exports = modules.Exports
	// VU is what an extension gets of a VU.
	VU = modules.VU
	// State is what there is of a VU that runs, and not yet while its script is read.
	State = lib.State
)

// TestEnd is what k6 tells of a test's end: after teardown, while samples are still taken. The
// package that names it is k6's own, so it is written as what it is there; the end-to-end tests
// fail where it is no longer that.
const TestEnd = 3

type (
	// Metric is what scripts can set thresholds on.
	Metric = metrics.Metric
	// Registry has all metrics of a test.
	Registry = metrics.Registry
	// TagSet is a set of tags.
	TagSet = metrics.TagSet
	// TagsAndMeta are tags, and what is known of a sample beside them.
	TagsAndMeta = metrics.TagsAndMeta
	// TimeSeries is a metric with a set of tags.
	TimeSeries = metrics.TimeSeries
	// Sample is a value of a time series.
	Sample = metrics.Sample
	// Samples are some of them, handed over together.
	Samples = metrics.Samples
	// SampleContainer is what k6 takes of samples at a time.
	SampleContainer = metrics.SampleContainer
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
	// ParseDuration reads a duration as k6's options have it: "1m30s", also with days.
	ParseDuration = types.ParseExtendedDuration
	// Execute is k6's command line.
	Execute = cmd.Execute
)
