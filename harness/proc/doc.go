// Package proc finds, starts and ends child processes, and reads the last lines of their logs.
//
// A Process is killed when the harness dies, reaped as soon as it ends, and takes the processes that it started with it: no
// process of a round outlives the round. Its methods may be called from any goroutine.
package proc
