//go:build !planted

package plantedclient

// Begin does nothing.
func Begin() error { return nil }

// Task does nothing.
func Task() {}
