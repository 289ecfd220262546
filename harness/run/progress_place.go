package run

import (
	"fmt"
	"time"
)

// Place is the position of a run in a series of runs of one command. The progress of such a run says how long the series will take, and leaves
// out the tables of figures: the command judges all runs at its end.
type Place struct {
	Number, Of int
	After      time.Duration // about how long the runs after this one will take
}

// text is like " (4 of 11)".
func (p *Place) text() string {
	if p == nil {
		return ""
	}
	return fmt.Sprintf(" (%d of %d)", p.Number, p.Of)
}

// inAll is like ", 1m22s in all", from the time that the run itself has left.
func (p *Place) inAll(left time.Duration) string {
	if p == nil || p.After == 0 {
		return ""
	}
	return fmt.Sprintf(", %v in all", (left + p.After).Round(time.Second))
}
