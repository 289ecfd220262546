package disk

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// fileIdentity identifies a file or folder independently of its path.
type fileIdentity struct{ device, inode uint64 }

// heldFolder is an open folder. Comparing it with the folder at its path shows whether that folder
// was replaced, because the system does not reuse the inode of an open folder.
type heldFolder struct {
	fs       vfs.FS
	path     string
	identity fileIdentity
	known    bool // false on a file system without identities, such as one in memory
	close    func() error
}

func holdFolder(fs vfs.FS, path string) (*heldFolder, error) {
	handle, err := fs.OpenDir(path)
	if err != nil {
		return nil, fmt.Errorf("open the folder %s: %w", path, err)
	}
	f := &heldFolder{fs: fs, path: path, close: sync.OnceValue(handle.Close)}
	info, err := handle.Stat()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("stat the folder %s: %w", path, err), handle.Close())
	}
	f.identity, f.known = identityOf(info)
	return f, nil
}

// look returns a *GoneError if the folder is no longer at its path or became read-only. Otherwise
// it returns the folder's file info, or nil after a transient error.
func (f *heldFolder) look() (vfs.FileInfo, error) {
	gone := func(problem, remedy string) (vfs.FileInfo, error) { return nil, &GoneError{f.path, problem, remedy} }
	info, err := f.fs.Stat(f.path)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return gone("was removed, renamed or unmounted while the server ran", folderRemedy)
	}
	if isTransient(err) {
		return nil, nil
	}
	if err != nil {
		return gone(fmt.Sprintf("can't be read any more (%v)", err), folderRemedy)
	}
	if is, known := identityOf(info); f.known && known && is != f.identity {
		return gone("is another folder than the server opened: it was replaced, or a file system was mounted or unmounted there", folderRemedy)
	}
	if f.known && readOnly(f.path) {
		return gone("is on a file system that became read-only while the server ran", readOnlyRemedy)
	}
	return info, nil
}
