package run

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/result"
)

// unsynced returns the metrics of a window of loss: the unsynced tasks, their age, and the counts
// of peaks up to 1, up to 2, and above, in tasks and in seconds.
func unsynced(tasks, seconds float64, counts ...uint64) observe.Metrics {
	m := observe.Metrics{Values: map[string]float64{unsyncedTasksGauge: tasks, observe.UnsyncedSeconds: seconds}, Histograms: map[string]observe.Buckets{}}
	for _, histogram := range []string{lossTasksHistogram, lossAgeHistogram} {
		for i, upper := range []float64{1, 2, math.Inf(1)} {
			m.Histograms[histogram] = append(m.Histograms[histogram], observe.Bucket{Upper: upper, Count: counts[i]})
		}
	}
	return m
}

// A round's window of loss has the peaks of the fsyncs in the window and the unsynced rest at its
// end, of all servers that were up then.
func TestTheLossWindowIsThatOfTheWindow(t *testing.T) {
	w := counters{servers: []*serverProbe{
		stageProbe(unsynced(9, 9, 10, 10, 1), unsynced(5, 0.25, 15, 12, 1)),
		stageProbe(observe.Metrics{}, unsynced(0, 0, 0, 0, 3)), // it was restarted
		stageProbe(unsynced(100, 100, 1, 0, 0), observe.Metrics{}),
	}}
	var m measured
	w.lossWindow(&m)
	assert.Empty(t, m.warnings)
	assert.Equal(t, &result.LossWindow{
		Tasks: result.PeaksOf([]result.Peak{{UpTo: 0, Count: 1}, {UpTo: 1, Count: 5}, {UpTo: 2, Count: 5}, {UpTo: 5, Count: 1}}),
		Ms:    result.PeaksOf([]result.Peak{{UpTo: 0, Count: 1}, {UpTo: 250, Count: 1}, {UpTo: 1000, Count: 5}, {UpTo: 2000, Count: 5}}),
	}, m.round.LossWindow, "a peak beyond all bounds gets the last bound")
}

// Under sync the window of loss is a measured zero. An unknown one is missing, never zero.
func TestALossWindowThatIsEmptyOrNotKnown(t *testing.T) {
	for name, c := range map[string]struct {
		before, after observe.Metrics
		want          *result.LossWindow
		warnings      int
	}{
		"sync": {before: unsynced(0, 0, 0, 0, 0), after: unsynced(0, 0, 0, 0, 0), want: &result.LossWindow{
			Tasks: result.PeaksOf([]result.Peak{{UpTo: 0, Count: 1}}), Ms: result.PeaksOf([]result.Peak{{UpTo: 0, Count: 1}}),
		}},
		"the server does not count": {after: observe.Metrics{Values: map[string]float64{"up": 1}}},
		"another process counted":   {before: unsynced(0, 0, 2, 0, 0), after: unsynced(0, 0, 1, 0, 0), warnings: 1},
	} {
		w := counters{servers: []*serverProbe{stageProbe(c.before, c.after)}}
		var m measured
		w.lossWindow(&m)
		assert.Equal(t, c.want, m.round.LossWindow, name)
		assert.Len(t, m.warnings, c.warnings, name)
	}
}
