package run

import "time"

// aroundGuess is the assumed duration of a round without its warm-up and window, before any round
// has ended.
const aroundGuess = time.Second

// pace estimates the remaining time of a run. Warm-ups and windows have known durations. The rest
// of a round (start of the servers, drain, backlog) is assumed to last as long as the average so
// far.
type pace struct {
	planned time.Duration // warm-up and window of one round
	rounds  int           // in the whole run

	since  time.Time     // the end of the last round, or the start of the run
	around time.Duration // total time of the ended rounds without their warm-ups and windows
	done   int
}

func (p *pace) begin(now time.Time) { p.since = now }

func (p *pace) ended(now time.Time) {
	p.around += max(0, now.Sub(p.since)-p.planned)
	p.since = now
	p.done++
}

// left estimates the remaining time of the run during a round.
func (p *pace) left(now time.Time) time.Duration {
	around := aroundGuess
	if p.done > 0 {
		around = p.around / time.Duration(p.done)
	}
	round := p.planned + around
	return max(0, round-now.Sub(p.since)) + time.Duration(max(0, p.rounds-p.done-1))*round
}
