package disk

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

type fileIdentity struct{ device, inode uint64 }

// heldFolder is a folder that is kept open, so that the system does not reuse its inode. Comparing
// its identity with that of the folder at the path therefore shows whether the folder was replaced.
type heldFolder struct {
	fs       vfs.FS
	path     string
	identity fileIdentity
	known    bool // false if the file system has no identities, as in memory
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

// look returns a *GoneError if the folder is no longer at its path or has become read-only.
// Otherwise it returns the FileInfo of the folder, or nil if a transient error prevented the check.
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
