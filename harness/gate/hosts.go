package gate

import "github.com/pronybench/prony/harness/result"

// addHosts adds to a comparison of two stored results how their hosts differ, and the figures as
// shares of the bare data path of each run, which can be compared between hosts. Rounds measured in
// blocks share a host and do not need it.
func addHosts(c *result.Comparison, base, change *result.Result) {
	if c.Paired {
		return
	}
	if c.Hosts = result.HostDifferences(base.Manifest, change.Manifest); len(c.Hosts) > 0 {
		c.Warnings = append(c.Warnings, "the hosts differ, so a difference is that of host and build together")
	}
	for i := range c.Metrics {
		d := &c.Metrics[i]
		d.BaseOfBare, d.ChangeOfBare = shareOfBare(base, d.Metric, d.Base), shareOfBare(change, d.Metric, d.Change)
	}
}

func shareOfBare(r *result.Result, metric string, m result.Metric) *result.Metric {
	if bare := r.Bare(result.Point{}); bare != nil {
		if share, ok := bare.Share(metric, m); ok {
			return &share
		}
	}
	return nil
}
