// Package k6api has the parts of k6 that the extension uses. No other package imports k6's modules,
// so that a new major version of k6 changes only this package.
package k6api

import (
	"go.k6.io/k6/cmd"
	"go.k6.io/k6/js/modules"
	"go.k6.io/k6/lib"
	"go.k6.io/k6/lib/types"
	"go.k6.io/k6/metrics"
)

type (
	// Instance is the extension of one VU.
	Instance = modules.Instance
	// Exports are the values that a script can import.
	Exports = modules.Exports
	// VU gives an extension access to a VU.
	VU = modules.VU
	// State is the state of a running VU. It does not exist in the init context.
	State = lib.State
)

// TestEnd is k6's event of a test's end: after teardown, while k6 still accepts samples. The
// package that names it is internal to k6, so this is a copy of its value. The end-to-end tests
// fail if it changes.
const TestEnd = 3

type (
	// Metric is a metric; scripts can set thresholds on it.
	Metric = metrics.Metric
	// Registry has all metrics of a test.
	Registry = metrics.Registry
	// TagSet is a set of tags.
	TagSet = metrics.TagSet
	// TagsAndMeta are tags and metadata of a sample.
	TagsAndMeta = metrics.TagsAndMeta
	// TimeSeries is a metric with a set of tags.
	TimeSeries = metrics.TimeSeries
	// Sample is a value of a time series.
	Sample = metrics.Sample
	// Samples are several samples that are sent together.
	Samples = metrics.Samples
	// SampleContainer is the unit in which k6 accepts samples.
	SampleContainer = metrics.SampleContainer
)

// Kinds of metrics and of their values.
const (
	Counter = metrics.Counter
	Trend   = metrics.Trend
	Time    = metrics.Time
)

var (
	// Register makes a module available to scripts under a name.
	Register = modules.Register
	// ParseDuration parses a duration of k6's options, such as "1m30s", also with days.
	ParseDuration = types.ParseExtendedDuration
	// Execute is k6's command line.
	Execute = cmd.Execute
)
