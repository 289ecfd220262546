package result

// Observed describes how the servers were observed during a timed round's window, as the scenario
// requested.
type Observed struct {
	// ScrapeS is the interval of reading the metrics of each server; 0 if they were not read.
	ScrapeS float64 `json:"scrape_s,omitempty"`
	Scrapes uint64  `json:"scrapes,omitempty"` // readings of all servers' metrics
	// Profiles are the kinds of profiles that the servers recorded. The profiles were not stored.
	Profiles []string `json:"profiles,omitempty"`
}

// TimedProfiled reports whether the servers were profiled in the window of a timed round. The
// round's figures then describe a server that is being profiled.
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
