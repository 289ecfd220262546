package main

import (
	"fmt"
	"strings"

	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// observedText says what observes the windows of the timed rounds.
func observedText(s *scenario.Scenario) string {
	if len(s.Points) > 0 { // the lines of the points say it
		return "the timed windows of the points, as they say"
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
