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

// gitTimeout bounds each git command.
const gitTimeout = 5 * time.Second

// Build describes the measured code: the Go version that built serverBinary, the commit stamped
// into it, and its SHA-256. A server without a stamp may be built from any source: its commit is
// unknown and it is dirty, whatever is checked out. Without a server binary Build describes this
// program, the load generator: its stamped commit, or else the commit checked out in the working
// directory, or else result.CommitUnknown.
//
// Dirty is false only if the stamp records a clean tree, this program was not built from a changed
// tree, and, in a checkout of Prony, the server's commit and the checked-out commit have the same
// engine. Build takes at most about twenty seconds.
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

// commitOfServer returns the commit stamped into a server; see Build. own describes this program,
// and dir may be in a checkout.
func commitOfServer(server, own *debug.BuildInfo, dir string) (commit string, dirty bool) {
	commit, dirty, known := stampedCommit(server)
	if !known {
		return result.CommitUnknown, true
	}
	_, ownDirty, ownKnown := stampedCommit(own)
	return commit, dirty || ownKnown && ownDirty || !engineCheckedOut(dir, commit)
}

// commitOf returns the stamped commit of a program, or else the commit checked out in dir.
func commitOf(info *debug.BuildInfo, dir string) (commit string, dirty bool) {
	if commit, dirty, ok := stampedCommit(info); ok {
		return commit, dirty
	}
	if commit, dirty, ok := checkedOutCommit(dir); ok {
		return commit, dirty
	}
	return result.CommitUnknown, true
}

// engineCheckedOut reports whether a commit has the same engine as the commit checked out in dir.
// It returns true if dir is not in a checkout of Prony.
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
// A tree only counts as clean if the stamp records it.
func stampedCommit(info *debug.BuildInfo) (commit string, dirty, ok bool) {
	if info == nil {
		return "", true, false
	}
	commit, changed := version.Commit(info)
	return commit, changed == nil || *changed, commit != ""
}

// checkedOutCommit returns the commit of dir's checkout, and whether the tree differs from it.
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
	defer func() { _ = file.Close() }() // read only
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
