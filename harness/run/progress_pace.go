package run

import "time"

// aroundGuess is the estimated duration of a round without its warm-up and window. It is used until
// the first round has ended.
const aroundGuess = time.Second

// pace estimates the remaining time of a run. Warm-ups and windows have known durations. The other
// parts of a round (start of the servers, drain, backlog) are assumed to last as long as their
// average so far.
type pace struct {
	planned time.Duration // warm-up plus window of one round
	rounds  int           // number of rounds in the whole run

	since  time.Time     // end of the last round, or start of the run
	around time.Duration // total time of the ended rounds without their warm-ups and windows
	done   int
}

func (p *pace) begin(now time.Time) { p.since = now }

func (p *pace) ended(now time.Time) {
	p.around += max(0, now.Sub(p.since)-p.planned)
	p.since = now
	p.done++
}

func (p *pace) left(now time.Time) time.Duration {
	around := aroundGuess
	if p.done > 0 {
		around = p.around / time.Duration(p.done)
	}
	round := p.planned + around
	return max(0, round-now.Sub(p.since)) + time.Duration(max(0, p.rounds-p.done-1))*round
}
