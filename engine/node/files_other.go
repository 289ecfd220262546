//go:build !unix

package node

// filesLimit returns how many files the process may have open, where the system has no limit of its own for it.
func filesLimit() (int, error) { return 1 << 16, nil }
