// Package version reports the version and commit that a program was built from.
package version

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// release is the version of a released binary, such as "v1.2.3", which the linker sets. The go
// command does not determine this version, because it finds the tag of a module only if the root of
// the repository is a module.
var release string

// unknown is the text for values that the go command did not record.
const unknown = "unknown"

// Info describes the source and the toolchain of a program.
type Info struct {
	// Version is that of a release or of the module; "(devel)" for a build from a checkout.
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"` // of the checkout; "" if unknown
	// Dirty reports whether the checkout differed from its commit; nil if unknown.
	Dirty    *bool  `json:"dirty,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"` // operating system and architecture
}

// Of returns the Info of this program.
func Of() Info {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return of(info, release)
}

func of(info *debug.BuildInfo, release string) Info {
	out := Info{Version: info.Main.Version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if out.Version == "" {
		out.Version = unknown
	}
	if release != "" {
		out.Version = release
	}
	out.Commit, out.Dirty = Commit(info)
	return out
}

// Commit returns the commit that the go command recorded in a program, and whether the checkout
// differed from the commit. The commit is "" if it was not recorded, and dirty is nil if that was
// not recorded.
func Commit(info *debug.BuildInfo) (commit string, dirty *bool) {
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			commit = s.Value
		case "vcs.modified":
			modified := s.Value != "false"
			dirty = &modified
		}
	}
	return commit, dirty
}

// commitShown is the number of characters of a commit in String.
const commitShown = 12

// String returns the version on one line: "v1.2.3 (0123456789ab)", or "(devel) (0123456789ab,
// changed)".
func (i Info) String() string {
	short := i.Commit[:min(len(i.Commit), commitShown)]
	if short == "" || strings.Contains(i.Version, short) {
		return i.Version
	}
	if i.Dirty != nil && *i.Dirty {
		short += ", changed"
	}
	return fmt.Sprintf("%s (%s)", i.Version, short)
}

// Rows returns names and values for people, in the order version, commit, dirty, go, platform.
func (i Info) Rows() [][2]string {
	commit, dirty := i.Commit, unknown
	if commit == "" {
		commit = unknown
	}
	if i.Dirty != nil {
		dirty = map[bool]string{true: "yes", false: "no"}[*i.Dirty]
	}
	return [][2]string{{"version", i.Version}, {"commit", commit}, {"dirty", dirty}, {"go", i.Go}, {"platform", i.Platform}}
}
