// Package signal wakes a goroutine that waits on a channel with room for one element. Several
// signals before the goroutine receives one count as one, so the receiver must handle all changes
// since its last receive.
package signal

// Send puts an element into a channel with room for one, unless the channel already has one. It
// never blocks.
func Send(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
