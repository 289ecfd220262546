package run

import "time"

// aroundGuess is what a round is taken to need beside its warm-up and window before one has ended.
const aroundGuess = time.Second

// pace estimates when a run will be over. The warm-ups and windows are known; what lies around them, the servers' start,
// the drain and a backlog, is taken to go on as it was so far.
type pace struct {
	planned time.Duration // the warm-up and the window of a round
	rounds  int           // of the run

	since  time.Time     // the end of the last round, or the run's start
	around time.Duration // beside the warm-ups and windows of all rounds that ended
	done   int
}

func (p *pace) begin(now time.Time) { p.since = now }

// ended notes that a round is over.
func (p *pace) ended(now time.Time) {
	p.around += max(0, now.Sub(p.since)-p.planned)
	p.since = now
	p.done++
}

// left is about how long the run will take from now on, while a round goes on.
func (p *pace) left(now time.Time) time.Duration {
	around := aroundGuess
	if p.done > 0 {
		around = p.around / time.Duration(p.done)
	}
	round := p.planned + around
	return max(0, round-now.Sub(p.since)) + time.Duration(max(0, p.rounds-p.done-1))*round
}
