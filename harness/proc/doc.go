// Package proc finds, starts and ends child processes, and reads the last lines of their logs.
//
// A Process is killed when the harness dies, and reaped when it ends. Processes that it started are
// killed with it, so no process of a round outlives the round. Its methods are safe for concurrent
// use.
package proc
