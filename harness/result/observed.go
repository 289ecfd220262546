package result

// Observed is what observed the servers in a timed round's window, because its scenario asks for it.
type Observed struct {
	ScrapeS float64 `json:"scrape_s,omitempty"` // how often the metrics of each server were read; 0: they were not
	Scrapes uint64  `json:"scrapes,omitempty"`  // readings of all servers' metrics
	// Profiles are the kinds that the servers recorded. The profiles were not kept.
	Profiles []string `json:"profiles,omitempty"`
}

// TimedProfiled reports whether the servers were profiled in the window of a timed round. Its figures are what a profiled server does.
func (r *Round) TimedProfiled() bool {
	return r.Timed() && r.Observed != nil && len(r.Observed.Profiles) > 0
}

// TimedProfiled returns the numbers of the timed rounds in whose windows the servers were profiled.
func (r *Result) TimedProfiled() (numbers []int) {
	for i := range r.Rounds {
		if r.Rounds[i].TimedProfiled() {
			numbers = append(numbers, r.Rounds[i].Number)
		}
	}
	return numbers
}
