// Package signal wakes a goroutine that waits on a channel with room for one element. If several
// signals are sent before the goroutine receives, it receives only one. The receiver must therefore
// handle all changes since its last receive.
package signal

// Send adds an element to a channel with room for one, unless the channel already contains an
// element. It never blocks.
func Send(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
