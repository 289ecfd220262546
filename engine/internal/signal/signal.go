// Package signal wakes a goroutine that waits on a channel with room for one element. Several signals before the goroutine receives one
// are the same as one: the receiver then looks at all that changed.
package signal

// Send puts an element into a channel that has room for one, unless the channel has one already. It never blocks.
func Send(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
