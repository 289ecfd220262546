package observe

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/pronybench/prony/harness/adminhttp"
)

const (
	scrapeTimeout  = 10 * time.Second
	scrapeBytesMax = 8 << 20
)

// Metrics contains the metrics of a server. The keys are the names of metrics. Series with the
// labels state, stage, cause and step have a separate key for each value of the label, in the form
// NAME{state="VALUE"}. Series that differ only in other labels are combined by Combine.
type Metrics struct {
	// Values contains the values of counters, gauges and untyped metrics. Of histograms and
	// summaries it contains NAME_sum and NAME_count. Values that are not finite are left out.
	Values map[string]float64
	// Histograms are the buckets of histograms.
	Histograms map[string]Buckets
}

// UnsyncedSeconds is the metric for the age of the oldest acknowledgement that no fsync covers, in
// seconds.
const UnsyncedSeconds = "prony_unsynced_seconds"

// Combine adds a value to the entry of key in all. Values are normally summed. For UnsyncedSeconds
// and for metrics whose names end in _max, Combine stores the maximum instead.
func Combine(all map[string]float64, key string, value float64) {
	name, _, _ := strings.Cut(key, "{")
	if before, there := all[key]; there && (strings.HasSuffix(name, "_max") || name == UnsyncedSeconds) {
		all[key] = max(before, value)
		return
	}
	all[key] += value
}

// Scrape is like ScrapeAll, but returns only the Values.
func Scrape(ctx context.Context, admin adminhttp.Client) (map[string]float64, error) {
	m, err := ScrapeAll(ctx, admin)
	return m.Values, err
}

// ReadMetrics requests a server's metrics as ScrapeAll does, and discards them.
func ReadMetrics(ctx context.Context, admin adminhttp.Client) error {
	if _, err := admin.Get(ctx, "/metrics", scrapeTimeout, scrapeBytesMax); err != nil {
		return fmt.Errorf("read metrics: %w", err)
	}
	return nil
}

// ScrapeAll reads the metrics of a server. It takes at most ten seconds and reads at most 8 MiB.
func ScrapeAll(ctx context.Context, admin adminhttp.Client) (Metrics, error) {
	body, err := admin.Get(ctx, "/metrics", scrapeTimeout, scrapeBytesMax)
	if err != nil {
		return Metrics{}, fmt.Errorf("scrape metrics: %w", err)
	}
	metrics, err := parseMetrics(body)
	if err != nil {
		return Metrics{}, fmt.Errorf("scrape metrics of %s: %w", admin.Address, err)
	}
	return metrics, nil
}

func parseMetrics(body []byte) (Metrics, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(body))
	if err != nil {
		return Metrics{}, err
	}
	m := Metrics{Values: make(map[string]float64, len(families)), Histograms: map[string]Buckets{}}
	for name, family := range families {
		for _, metric := range family.GetMetric() {
			m.add(name, family.GetType(), metric)
		}
	}
	m.rename()
	return m, nil
}

// FsyncSeconds is the counter of the seconds spent in fsyncs of the stores' files.
const FsyncSeconds = "prony_storage_fsync_seconds_total"

// fsyncMicroseconds is the counter that earlier builds of the server export instead of
// FsyncSeconds. It has another unit. The base of a comparison may be such a build.
const fsyncMicroseconds = "prony_storage_fsync_microseconds_total"

func (m *Metrics) rename() {
	if us, there := m.Values[fsyncMicroseconds]; there {
		delete(m.Values, fsyncMicroseconds)
		m.Values[FsyncSeconds] = us / 1e6
	}
}

func (m *Metrics) add(name string, kind dto.MetricType, metric *dto.Metric) {
	suffix := ""
	for _, label := range metric.GetLabel() {
		switch label.GetName() {
		case "state", "stage", "cause", "step":
			suffix = "{" + label.GetName() + "=" + strconv.Quote(label.GetValue()) + "}"
		}
	}
	add := func(name string, value float64) {
		if !math.IsNaN(value) && !math.IsInf(value, 0) {
			Combine(m.Values, name+suffix, value)
		}
	}
	switch kind {
	case dto.MetricType_COUNTER:
		add(name, metric.GetCounter().GetValue())
	case dto.MetricType_GAUGE:
		add(name, metric.GetGauge().GetValue())
	case dto.MetricType_UNTYPED:
		add(name, metric.GetUntyped().GetValue())
	case dto.MetricType_SUMMARY:
		add(name+"_sum", metric.GetSummary().GetSampleSum())
		add(name+"_count", float64(metric.GetSummary().GetSampleCount()))
	case dto.MetricType_HISTOGRAM, dto.MetricType_GAUGE_HISTOGRAM:
		add(name+"_sum", metric.GetHistogram().GetSampleSum())
		add(name+"_count", float64(metric.GetHistogram().GetSampleCount()))
		m.Histograms[name+suffix] = m.Histograms[name+suffix].Plus(bucketsOf(metric.GetHistogram()))
	}
}
