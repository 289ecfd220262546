// Package busypoll lets a connection poll its socket for a short time before its thread sleeps.
//
// Waking a sleeping thread costs both sides more than a small frame costs, and takes longer. Where one process answers
// another as fast as it is asked, waking is most of the cost of a frame: polling saves that cost and pays with the idle
// time between frames. It helps a process that has a processor of its own and runs on that one alone (GOMAXPROCS=1
// of several). With more processors polling gained nothing when measured, and beside a third busy process it lost.
//
// Credentials wraps gRPC's transport credentials; where polling does not help it returns them unchanged. Each
// connection decides by the length of its waits (habit): it polls only while nearly all its waits are short, so an idle
// connection costs nothing, and only while it is the only one of the process that data comes in on. Under TLS the
// connection below is not visible, so it does not poll.
//
// A connection's habit belongs to the goroutine that reads from the connection. All connections of a process share
// one pollers value: at most one of them polls at a time.
package busypoll
