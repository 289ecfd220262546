package observe

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

const (
	scrapeTimeout  = 10 * time.Second
	scrapeBytesMax = 8 << 20
)

// Scrape reads the metrics of a server. Each metric is summed over its labels, except that values of a label named state stay apart: the key
// is then NAME{state="VALUE"}. Histograms and summaries appear as NAME_sum and NAME_count. Values
// that are not finite numbers are left out. It takes at most ten seconds and 8 MiB.
func Scrape(ctx context.Context, admin Admin) (map[string]float64, error) {
	body, err := get(ctx, admin, "/metrics", scrapeTimeout, scrapeBytesMax)
	if err != nil {
		return nil, fmt.Errorf("scrape metrics: %w", err)
	}
	metrics, err := parseMetrics(body)
	if err != nil {
		return nil, fmt.Errorf("scrape metrics of %s: %w", admin.Address, err)
	}
	return metrics, nil
}

func parseMetrics(body []byte) (map[string]float64, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	metrics := make(map[string]float64, len(families))
	for name, family := range families {
		for _, metric := range family.GetMetric() {
			addMetric(metrics, name, family.GetType(), metric)
		}
	}
	return metrics, nil
}

func addMetric(metrics map[string]float64, name string, kind dto.MetricType, metric *dto.Metric) {
	suffix := ""
	for _, label := range metric.GetLabel() {
		if label.GetName() == "state" {
			suffix = "{state=" + strconv.Quote(label.GetValue()) + "}"
		}
	}
	add := func(name string, value float64) {
		if !math.IsNaN(value) && !math.IsInf(value, 0) {
			metrics[name+suffix] += value
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
	}
}
