package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/pronybench/prony/engine/node"
	"github.com/pronybench/prony/engine/storage"
	"github.com/pronybench/prony/engine/storage/fsck"
)

func (r *report) stores(ctx context.Context, c *node.Config) {
	const check = "stores"
	folders, err := shardFolders(c.DataDir)
	if err != nil {
		r.add(check, Unfit, err.Error(), "run this as the user that runs the server")
		return
	}
	if len(folders) == 0 {
		r.add(check, Fit, "none yet", "")
		return
	}
	r.layout(c, folders)
	var all fsck.Holding
	for _, folder := range folders {
		h, err := fsck.Verify(ctx, folder)
		switch {
		case ctx.Err() != nil:
			r.add(check, Unknown, "not all were read: interrupted", "")
			return
		case errors.Is(err, syscall.EAGAIN) || err != nil && strings.Contains(err.Error(), "lock held by current process"):
			r.add(check, Fit, "open in a running server, so not read; check that server with /audit", "")
			return
		case errors.Is(err, fs.ErrPermission):
			r.add(check, Unfit, err.Error(), "run this as the user that runs the server")
			return
		case err != nil:
			r.add(check, Unfit, err.Error(), "restore a backup with 'queued restore', and keep this folder for an investigation")
			continue
		}
		all.Queues += h.Queues
		all.Tasks += h.Tasks
	}
	r.add(check, Fit, fmt.Sprintf("%d read to the end: checksums hold and counters agree; %d tasks", len(folders), all.Tasks), "")
	r.measured(fmt.Sprintf("%d tasks", all.Tasks), "")
}

// layout checks that the number of shards is the same in the configuration, in the data folder's
// record (if it exists), and in the folders of shards.
func (r *report) layout(c *node.Config, folders []string) {
	const check = "shards"
	shards, err := storage.ReadLayout(c.DataDir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		shards = len(folders)
	case err != nil:
		r.add(check, Unfit, err.Error(), "restore a backup with 'queued restore', and keep this folder for an investigation")
		return
	case shards != len(folders):
		r.add(check, Unfit, fmt.Sprintf("the data folder records %d shards, but has %d", shards, len(folders)),
			"restore a backup with 'queued restore', and keep this folder for an investigation")
		return
	}
	if shards != c.Shards {
		r.add(check, Unfit, fmt.Sprintf("the data folder has %d, but the configuration has %d", shards, c.Shards),
			fmt.Sprintf("pass --shards %d: the number is fixed when the data folder is made", shards))
		return
	}
	r.add(check, Fit, fmt.Sprintf("%d", shards), "")
}

// tokenFile is the name of the file with the server's operator token in its data folder.
const tokenFile = "admin.token"

func (r *report) token(c *node.Config) {
	const check = "admin token"
	path := filepath.Join(c.DataDir, tokenFile)
	info, err := os.Stat(path)
	folders, _ := shardFolders(c.DataDir) // stores reports the error
	switch {
	case !c.Auth:
		r.add(check, Warning, "authentication is off: everybody who can connect is an operator", "use --auth on")
	case errors.Is(err, fs.ErrNotExist) && c.Cluster.On():
		r.add(check, Fit, "not here: the first leader creates it", "")
	case errors.Is(err, fs.ErrNotExist) && len(folders) > 0:
		r.add(check, Warning, path+" does not exist", "if no operator has a token, start the server once with --new-admin-token")
	case errors.Is(err, fs.ErrNotExist):
		r.add(check, Fit, "none yet; the server creates it at its first start", "")
	case err != nil:
		r.add(check, Unfit, err.Error(), "run this as the user that runs the server")
	case info.Mode().Perm()&0o077 != 0:
		r.add(check, Unfit, fmt.Sprintf("%s can be read by others: its mode is %o", path, info.Mode().Perm()),
			"chmod 600 "+path+", and start the server once with --new-admin-token if others may have read it")
	default:
		r.add(check, Fit, path+" is only this user's", "")
	}
}
