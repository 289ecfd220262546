package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pronybench/prony/engine/internal/setting"
	"github.com/pronybench/prony/engine/shard"
	"github.com/pronybench/prony/engine/storage/disk"
)

const (
	// adminTokenFile is the name of a file in the data folder. The file contains the secret of the
	adminTokenFile = "admin.token"
	// nextSuffix is the suffix of the file with the secret of a token that the registry may not
	// have stored yet.
	nextSuffix = ".next"
	// secretBytesMax exceeds the length of any secret in bytes.
	secretBytesMax = 1 << 10
)

// TokenFile returns the path of the file with the secret of an operator's token. It returns ""
// without authentication. An operator who has stored the secret elsewhere may remove the file.
func (n *Node) TokenFile() string { return n.tokenFile }

// makeAdminToken creates an operator's token and writes its secret to the token file.
//
// It first writes the secret to a separate file, and renames that file once the registry has stored
// the token. So the token file never contains the secret of a token that does not exist. If the
// process dies before the rename, or the node loses leadership and the outcome is unknown,
// keepAdminToken later renames or removes the separate file.
func (n *Node) makeAdminToken(ctx context.Context) error {
	next := n.tokenFile + nextSuffix
	kept := false
	err := n.registry.ReplaceAdminFile(ctx, func(secret string) error {
		n.tokenFiles.Lock()
		defer n.tokenFiles.Unlock()
		err := disk.WriteWhole(next, []byte(secret+"\n"))
		kept = err == nil
		return err
	})
	if err == nil {
		err = n.keepAdminToken(false)
	} else if kept && errors.Is(err, shard.ErrNotLeader) { // the token was not stored
		err = errors.Join(err, os.Remove(next))
	}
	if err != nil {
		return setting.Path(fmt.Errorf("make the admin token: %w", err), "give the data folder to the user of the server", "data")
	}
	return nil
}

// keepAdminToken handles a file with a secret that makeAdminToken has left behind. If the registry
// contains the secret's token, keepAdminToken renames the file to the token file. If the registry
// lacks the token and complete is true, which means that the registry is complete, keepAdminToken
// removes the file.
func (n *Node) keepAdminToken(complete bool) error {
	if n.tokenFile == "" {
		return nil
	}
	n.tokenFiles.Lock()
	defer n.tokenFiles.Unlock()
	next := n.tokenFile + nextSuffix
	secret, err := disk.ReadBounded(next, secretBytesMax)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the secret of the unfinished admin token: %w", err)
	}
	if _, err := n.registry.Authenticate(strings.TrimSpace(string(secret)), time.Now()); err == nil {
		return n.takeNextLocked()
	}
	if complete {
		return os.Remove(next)
	}
	return nil
}

// takeNextLocked renames the file with the new secret to the token file. The caller holds
// tokenFiles.
func (n *Node) takeNextLocked() error {
	if err := os.Rename(n.tokenFile+nextSuffix, n.tokenFile); err != nil {
		return err
	}
	n.log.Info("made an operator's token", "path", n.tokenFile)
	return disk.SyncFolder(filepath.Dir(n.tokenFile))
}
