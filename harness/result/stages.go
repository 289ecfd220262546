package result

// Stage is how long one stage of the servers' pipeline took in a round's window, over all nodes and shards.
type Stage struct {
	// Name is "inbox", "decide", "commit_wait", "commit", "replicate", "apply" or "reply".
	Name  string  `json:"name"`
	Count uint64  `json:"count"`  // what passed the stage: commands of "inbox" and "reply", commits of the others
	SumMs float64 `json:"sum_ms"` // of all of them together
	// P50Ms and P99Ms are interpolated in the server's histogram, whose buckets double: they are good to a factor of two.
	P50Ms float64 `json:"p50_ms"`
	P99Ms float64 `json:"p99_ms"`
}

// MeanMs is the stage's mean time in milliseconds; 0 where nothing passed it.
func (s Stage) MeanMs() float64 {
	if s.Count == 0 {
		return 0
	}
	return s.SumMs / float64(s.Count)
}
