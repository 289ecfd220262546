package observe

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/pronybench/prony/engine/version"
	"github.com/pronybench/prony/harness/result"
)

// gitTimeout bounds each git command.
const gitTimeout = 5 * time.Second

// Build says which code is measured: the Go version that built serverBinary, the commit, and the
// SHA-256 of serverBinary. The commit is the one stamped into serverBinary, else into this program,
// else the one checked out in the working directory; "unknown" where none of these tells. Dirty is
// true unless the tree of a known commit was proven to be clean, and if this program, which makes the load, says that it was built from a tree
// with changes. It takes at most about ten seconds.
func Build(serverBinary string) result.Build {
	build := result.Build{GoVersion: runtime.Version(), Commit: unknown, Dirty: true}
	build.Server = Binary(serverBinary)
	var stamps []*debug.BuildInfo
	if info, err := buildinfo.ReadFile(serverBinary); err == nil {
		build.GoVersion = info.GoVersion
		stamps = append(stamps, info)
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		stamps = append(stamps, info)
	}
	if commit, dirty, ok := stampedCommits(stamps); ok {
		build.Commit, build.Dirty = commit, dirty
	} else if commit, dirty, ok := checkedOutCommit("."); ok {
		build.Commit, build.Dirty = commit, dirty
	}
	return build
}

// stampedCommits returns the commit of the first program that has one, and whether the tree of any was not proven to be clean.
func stampedCommits(stamps []*debug.BuildInfo) (commit string, dirty, ok bool) {
	for _, info := range stamps {
		of, changed, known := stampedCommit(info)
		if known && !ok {
			commit, ok = of, true
		}
		dirty = dirty || known && changed
	}
	return commit, dirty, ok
}

// Binary returns the SHA-256 of a binary in hexadecimal; "unknown" of one that can't be read.
func Binary(path string) string {
	sum, err := fileSHA256(path)
	if err != nil {
		return unknown
	}
	return sum
}

// stampedCommit returns what the go command recorded of the version control when it built a binary. A tree is clean only if that was
// recorded.
func stampedCommit(info *debug.BuildInfo) (commit string, dirty, ok bool) {
	commit, changed := version.Commit(info)
	return commit, changed == nil || *changed, commit != ""
}

// checkedOutCommit asks git for the commit of dir's checkout, and whether anything differs from it.
func checkedOutCommit(dir string) (commit string, dirty, ok bool) {
	commit, err := git(dir, "rev-parse", "--verify", "HEAD")
	if err != nil || commit == "" {
		return "", false, false
	}
	status, err := git(dir, "status", "--porcelain")
	return commit, err != nil || status != "", true
}

func git(dir string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), gitTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_OPTIONAL_LOCKS=0") // looking must not write to the index
	cmd.WaitDelay = time.Second
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(out.String()), nil
}

func fileSHA256(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }() // only read
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
