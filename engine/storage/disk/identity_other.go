//go:build !unix

package disk

import "os"

// identityOf returns false: the system does not tell the identity of a file with its other
// properties.
func identityOf(os.FileInfo) (fileIdentity, bool) { return fileIdentity{}, false }

func readOnly(string) bool { return false }

// linkCount is for systems that remove no open files.
type linkCount struct{}

func (*linkCount) none(uintptr) bool { return false }
