//go:build !unix

package node

// filesLimit returns an assumed maximum number of open files, for systems that have no such limit.
func filesLimit() (int, error) { return 1 << 16, nil }
