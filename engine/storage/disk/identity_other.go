//go:build !unix

package disk

import "os"

// identityOf returns false: os.FileInfo has no identity on this system.
func identityOf(os.FileInfo) (fileIdentity, bool) { return fileIdentity{}, false }

func readOnly(string) bool { return false }

// unlinked returns false: this system does not remove open files.
func unlinked(uintptr) bool { return false }
