package run

import (
	"fmt"
	"time"
)

// Place is the position of a run in a series of runs of one command. If a run has a Place, its
// progress also reports how long the series will take. It omits the tables of figures, because the
// command judges all runs at its end.
type Place struct {
	Number, Of int
	After      time.Duration // estimated duration of the runs that follow this one
}

// text formats the position like " (4 of 11)".
func (p *Place) text() string {
	if p == nil {
		return ""
	}
	return fmt.Sprintf(" (%d of %d)", p.Number, p.Of)
}

// inAll formats the remaining time of the series like ", 1m22s in all". left is the remaining time
// of this run.
func (p *Place) inAll(left time.Duration) string {
	if p == nil || p.After == 0 {
		return ""
	}
	return fmt.Sprintf(", %v in all", (left + p.After).Round(time.Second))
}
