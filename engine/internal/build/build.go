// Package build identifies the content of the running program. Two programs can then be compared.
package build

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"runtime/debug"
	"sync"

	"github.com/pronybench/prony/engine/version"
)

// Info identifies the content of a program.
type Info struct {
	// Commit is the revision of the program's source, or "" if unknown.
	Commit string
	// Modified is true if the source had uncommitted changes.
	Modified bool
	// SHA256 is the hash of the program's file in hexadecimal digits. It is "" if Commit identifies
	// the content, or if the file cannot be read.
	SHA256 string
}

// This returns the Info of the running program. It reads the program's file once, and only if the
// commit alone does not identify the content.
var This = sync.OnceValue(func() Info {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return of(info, hash)
})

func of(info *debug.BuildInfo, hash func() string) (i Info) {
	commit, dirty := version.Commit(info)
	i.Commit, i.Modified = commit, dirty != nil && *dirty
	if i.Commit == "" || i.Modified {
		i.SHA256 = hash()
	}
	return i
}

// running is the path of the running program's file on Linux. It refers to this file even if
// another file has replaced it at its original path.
const running = "/proc/self/exe"

func hash() string {
	f, err := os.Open(running)
	if err != nil {
		path, err := os.Executable()
		if err != nil {
			return ""
		}
		if f, err = os.Open(path); err != nil {
			return ""
		}
	}
	defer f.Close() //nolint:errcheck // f was only read
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Known reports whether i identifies the content of a program.
func (i Info) Known() bool { return i.Commit != "" && !i.Modified || i.SHA256 != "" }

// Same reports whether two programs have the same content. It returns false if Known is false for
// one of them.
func (i Info) Same(other Info) bool { return i.Known() && i == other }

// digits is the number of digits of a hash that String includes.
const digits = 12

// String identifies the content for people, for example as "commit 0123456789ab". If the source was
// modified, ", changed, SHA-256 …" follows.
func (i Info) String() string {
	short := func(s string) string { return s[:min(len(s), digits)] }
	text := ""
	if i.Commit != "" {
		text = "commit " + short(i.Commit)
		if i.Modified {
			text += ", changed"
		}
	}
	if i.SHA256 != "" {
		if text != "" {
			text += ", "
		}
		text += "SHA-256 " + short(i.SHA256)
	}
	if text == "" {
		return "unknown content"
	}
	return text
}
