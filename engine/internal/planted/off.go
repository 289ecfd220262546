//go:build !planted

package planted

import "context"

// Begin does nothing.
func Begin() error { return nil }

// Hits returns false.
func Hits(string) bool { return false }

// Reads returns false.
func Reads(any) bool { return false }

// Arrives returns next.
func Arrives(next func(context.Context, string) context.Context) func(context.Context, string) context.Context {
	return next
}

// Wall returns ns.
func Wall(ns int64) int64 { return ns }
