//go:build !planted

package planted

import "context"

// Enabled reports whether the binary has the faults.
const Enabled = false

// Begin does nothing.
func Begin() error { return nil }

// Command does nothing.
func Command() {}

// Commit does nothing.
func Commit() {}

// Send does nothing.
func Send(int) {}

// Receive does nothing.
func Receive() {}

// Hits returns false.
func Hits(string) bool { return false }

// Serial returns 0.
func Serial() int { return 0 }

// Another returns nil.
func Another(string, any, string) any { return nil }

// Reads returns false.
func Reads(any) bool { return false }

// Arrives returns next.
func Arrives(next func(context.Context, string) context.Context) func(context.Context, string) context.Context {
	return next
}

// Wall returns ns.
func Wall(ns int64) int64 { return ns }
