package k6

// Due is when tasks that are to be sent together were due. A script hands it on to produce.
type Due struct {
	Length int     `js:"length"`
	at     []int64 // of those not sent yet, in nanoseconds since the load began
}

func (d *Due) left() int {
	return len(d.at)
}

// take returns when the next n tasks were due; nil of no Due, of tasks that are due when they are
// sent.
func (d *Due) take(n int) []int64 {
	if d == nil {
		return nil
	}
	at := d.at[:n]
	d.at = d.at[n:]
	return at
}
