package baselinebuild

import "slices"

// CreepShare is the share of its best value below which a product may not fall without a reason.
const CreepShare = 0.95

// Product is how much a metric improved over all moves that measured it. A value above 1 is better than the first build, for a
// cost or a latency as for a rate.
type Product struct {
	Scenario string  `json:"scenario"`
	Metric   string  `json:"metric"`
	Moves    int     `json:"moves"` // that recorded a ratio of the metric
	Value    float64 `json:"product"`
	// Best is the highest value so far. The first build has the value 1.
	Best       float64 `json:"best"`
	BestCommit string  `json:"best_commit"`
	Share      float64 `json:"share"` // Value as a share of Best: 1 at most
	// Fell is true if the last build took the value below CreepShare of the best value since the last accepted fall.
	Fell bool `json:"fell,omitempty"`

	since float64 // the best value since the last accepted fall
}

// Products returns the product of each metric of each scenario, by scenario in the order of the file and then by metric in the order of
// Metrics. A move without a ratio of a metric leaves its product as it was: equal counters have no ratio.
func (f *File) Products() []Product {
	var all []Product
	for i, b := range f.Builds {
		for _, r := range b.Ratios {
			at := slices.IndexFunc(all, func(p Product) bool { return p.Scenario == r.Scenario && p.Metric == r.Metric })
			if at < 0 {
				at = len(all)
				all = append(all, Product{Scenario: r.Scenario, Metric: r.Metric, Value: 1, Best: 1, BestCommit: f.Builds[0].Commit, since: 1})
			}
			p := &all[at]
			p.Moves++
			p.Value *= r.goodness()
			if p.Value > p.Best {
				p.Best, p.BestCommit = p.Value, b.Commit
			}
			p.Share = p.Value / p.Best
			p.since = max(p.since, p.Value)
			fell := p.Value < CreepShare*p.since
			p.Fell = fell && i == len(f.Builds)-1
			if fell && b.AcceptCreep != "" {
				p.since = p.Value
			}
		}
	}
	order(all)
	return all
}

// order sorts products by scenario, in the order of first appearance, and then by metric.
func order(all []Product) {
	var scenarios []string
	for _, p := range all {
		if !slices.Contains(scenarios, p.Scenario) {
			scenarios = append(scenarios, p.Scenario)
		}
	}
	slices.SortStableFunc(all, func(a, b Product) int {
		if by := slices.Index(scenarios, a.Scenario) - slices.Index(scenarios, b.Scenario); by != 0 {
			return by
		}
		return place(a.Metric) - place(b.Metric)
	})
}

// Fallen returns the products that the last build took below CreepShare of their best.
func (f *File) Fallen() []Product {
	return slices.DeleteFunc(f.Products(), func(p Product) bool { return !p.Fell })
}

// With returns a file with one build more. f stays as it is.
func (f *File) With(b Build) *File { return &File{Builds: append(slices.Clone(f.Builds), b)} }
