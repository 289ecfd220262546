package main

import (
	"fmt"
	"strings"

	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// observedText lists what is recorded in the windows of the timed rounds.
func observedText(s *scenario.Scenario) string {
	if len(s.Points) > 0 { // the lines of the points have the details
		return "the timed windows, as each point says"
	}
	var all []string
	if every := s.Observe.Scrape; every > 0 {
		all = append(all, fmt.Sprintf("the metrics of each server are read every %s", hclfile.FormatDuration(every)))
	}
	if s.Observe.Profiles {
		all = append(all, "the servers are profiled")
	}
	if len(all) == 0 {
		return "nothing"
	}
	return "in the timed windows " + strings.Join(all, ", and ")
}
