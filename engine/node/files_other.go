//go:build !unix

package node

// filesLimit returns an assumed number of file descriptors, for systems without a limit.
func filesLimit() (int, error) { return 1 << 16, nil }
