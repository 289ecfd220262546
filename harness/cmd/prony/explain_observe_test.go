package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/harness/scenario"
)

func TestExplainSaysWhatObserves(t *testing.T) {
	for want, o := range map[string]scenario.Observe{
		"nothing": {},
		"in the timed windows the metrics of each server are read every 1s":                               {Scrape: time.Second},
		"in the timed windows the servers are profiled":                                                   {Profiles: true},
		"in the timed windows the metrics of each server are read every 1s, and the servers are profiled": {Scrape: time.Second, Profiles: true},
	} {
		assert.Equal(t, want, observedText(&scenario.Scenario{Observe: &o}))
	}
	assert.Contains(t, observedText(&scenario.Scenario{Observe: &scenario.Observe{}, Points: make([]scenario.Point, 2)}), "as each point says")
}
