package baselinebuild

import "slices"

// CreepShare is the fraction of its best value below which a product must not fall without a
// reason.
const CreepShare = 0.95

// Product is the improvement of a metric over all moves, which are changes of the baseline build,
// that measured it. A value above 1 is better than the first build, also for costs and latencies.
type Product struct {
	Scenario string  `json:"scenario"`
	Metric   string  `json:"metric"`
	Moves    int     `json:"moves"` // number of moves with a ratio of the metric
	Value    float64 `json:"product"`
	// Best is the highest value so far. The first build has the value 1.
	Best       float64 `json:"best"`
	BestCommit string  `json:"best_commit"`
	Share      float64 `json:"share"` // Value as a fraction of Best, at most 1
	// Fell reports that the last build reduced the value below CreepShare of the best value since
	// the last accepted fall.
	Fell bool `json:"fell,omitempty"`

	since float64 // the best value since the last accepted fall
}

// Products returns the product of each metric of each scenario, by scenario in the order of the
// file and then by metric in the order of Metrics. A move without a ratio of a metric, for example
// because a counter did not change, does not change the metric's product.
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

// Fallen returns the products that the last build reduced below CreepShare of their best.
func (f *File) Fallen() []Product {
	return slices.DeleteFunc(f.Products(), func(p Product) bool { return !p.Fell })
}

// With returns a copy of f with an additional build.
func (f *File) With(b Build) *File { return &File{Builds: append(slices.Clone(f.Builds), b)} }
