package render

import "strings"

// renamedTo is result.RenamedTo.
const renamedTo = " → "

// Function shortens the full name of a Go function to the last part of its package's path:
// shard.(*inbox).put. A major version is preserved together with the part before it:
// pebble/v2.Open. Of a renamed function it shortens both names.
func Function(name string) string {
	if was, is, renamed := strings.Cut(name, renamedTo); renamed {
		return Function(was) + renamedTo + Function(is)
	}
	path := name
	if receiver := strings.IndexAny(path, "(["); receiver >= 0 {
		path = path[:receiver] // receivers and type arguments may contain paths
	}
	slash := strings.LastIndexByte(path, '/') + 1
	if last := path[slash:]; slash > 0 && len(last) > 1 && last[0] == 'v' && last[1] >= '0' && last[1] <= '9' {
		slash = strings.LastIndexByte(path[:slash-1], '/') + 1
	}
	return name[slash:]
}

// commitDigits are enough to distinguish the commits of a repository.
const commitDigits = 12

// Commit returns the beginning of a commit's hash, or "unknown" for "".
func Commit(hash string) string {
	if hash == "" {
		return "unknown"
	}
	return hash[:min(commitDigits, len(hash))]
}
