//go:build !unix

package node

// filesLimit returns how many files the process may have open, on systems without a limit.
func filesLimit() (int, error) { return 1 << 16, nil }
