package k6

// Due has the due times of tasks to send together. A script passes it to produce.
type Due struct {
	Length int     `js:"length"`
	at     []int64 // due times of the unsent tasks, in nanoseconds since the load began
}

func (d *Due) left() int {
	return len(d.at)
}

// take removes and returns the due times of the next n tasks. A nil Due returns nil: its tasks are
// due when they are sent.
func (d *Due) take(n int) []int64 {
	if d == nil {
		return nil
	}
	at := d.at[:n]
	d.at = d.at[n:]
	return at
}
