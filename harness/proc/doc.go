// Package proc finds, starts and ends child processes, and reads the last lines of their logs.
//
// A Process is killed when the harness dies, and reaped when it ends. Processes that a Process has
// started are killed when it ends. No process of a round therefore outlives the round. The methods
// of a Process are safe for concurrent use.
package proc
