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
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/pronybench/prony/engine/version"
	"github.com/pronybench/prony/harness/result"
)

// gitTimeout bounds the time of each git command.
const gitTimeout = 5 * time.Second

// Build describes the code that was measured: the Go version that built serverBinary, the commit
// that is stamped into the binary, and the SHA-256 of the binary. If the binary has no stamp, its
// source is unknown: Commit is result.CommitUnknown and Dirty is true, whatever is checked out. If
// serverBinary cannot be read, Build describes this program, which is the load generator. Commit is
// then its stamped commit; if there is no stamp, it is the commit checked out in the working
// directory, or else result.CommitUnknown.
//
// For a server, Dirty is false only if three conditions are met: the stamp records a clean tree,
// this program was not built from a changed tree, and the checkout (if the working directory is in
// a checkout of Prony) has the same engine as the server's commit. Build takes at most about twenty
// seconds.
func Build(serverBinary string) result.Build {
	build := result.Build{GoVersion: runtime.Version(), Commit: result.CommitUnknown, Dirty: true, Server: Binary(serverBinary)}
	own, _ := debug.ReadBuildInfo()
	if build.Server == unknown {
		build.Commit, build.Dirty = commitOf(own, ".")
		return build
	}
	info, err := buildinfo.ReadFile(serverBinary)
	if err != nil {
		return build
	}
	build.GoVersion = info.GoVersion
	build.Commit, build.Dirty = commitOfServer(info, own, ".")
	return build
}

// Harness describes the build of this program, as Build does without a server binary.
func Harness() result.Build { return Build("") }

// commitOfServer returns the commit that is stamped into a server; see Build. own is the build
// information of this program. dir may be a folder in a checkout.
func commitOfServer(server, own *debug.BuildInfo, dir string) (commit string, dirty bool) {
	commit, dirty, known := stampedCommit(server)
	if !known {
		return result.CommitUnknown, true
	}
	_, ownDirty, ownKnown := stampedCommit(own)
	return commit, dirty || ownKnown && ownDirty || !engineCheckedOut(dir, commit)
}

// commitOf returns the stamped commit of a program. If there is no stamp, it returns the commit
// that is checked out in dir.
func commitOf(info *debug.BuildInfo, dir string) (commit string, dirty bool) {
	if commit, dirty, ok := stampedCommit(info); ok {
		return commit, dirty
	}
	if commit, dirty, ok := checkedOutCommit(dir); ok {
		return commit, dirty
	}
	return result.CommitUnknown, true
}

// engineCheckedOut reports whether the given commit and the commit checked out in dir have the same
// engine. It returns true if dir is not in a checkout of Prony.
func engineCheckedOut(dir, commit string) bool {
	root, err := git(dir, "rev-parse", "--show-toplevel")
	if err != nil {
		return true
	}
	if _, err := os.Stat(filepath.Join(root, "engine", "cmd", "queued")); err != nil {
		return true
	}
	head, err := git(dir, "rev-parse", "--verify", "HEAD")
	if err != nil || head == commit {
		return err == nil
	}
	differs, err := git(dir, "diff", "--name-only", commit, head, "--", ":/engine", ":/go.work")
	return err == nil && differs == ""
}

// Binary returns the SHA-256 of a binary in hexadecimal, or "unknown" if it cannot be read.
func Binary(path string) string {
	sum, err := fileSHA256(path)
	if err != nil {
		return unknown
	}
	return sum
}

// stampedCommit returns the version control information that the go command stamped into a binary.
// The tree counts as clean only if the stamp records a clean tree.
func stampedCommit(info *debug.BuildInfo) (commit string, dirty, ok bool) {
	if info == nil {
		return "", true, false
	}
	commit, changed := version.Commit(info)
	return commit, changed == nil || *changed, commit != ""
}

// checkedOutCommit returns the commit that is checked out in dir, and whether the tree differs from
// that commit.
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
	cmd.Env = append(os.Environ(), "GIT_OPTIONAL_LOCKS=0") // git must not write to the index
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
	defer func() { _ = file.Close() }() // the file is only read
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// WorkingDir returns the working directory. Within a repository the path is relative to the root of
// the repository ("." at the root), because the same folder exists on other hosts. Elsewhere the
// path is absolute. WorkingDir returns "unknown" if the directory cannot be read.
func WorkingDir() string {
	dir, err := os.Getwd()
	if err != nil {
		return unknown
	}
	prefix, err := git(dir, "rev-parse", "--show-prefix")
	switch {
	case err != nil:
		return dir
	case prefix == "":
		return "."
	}
	return prefix
}
