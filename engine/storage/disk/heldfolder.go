package disk

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// fileIdentity is what a file or folder is, whatever its path.
type fileIdentity struct{ device, inode uint64 }

// heldFolder is an open folder that is compared with what its path leads to. As long as it is open,
// the system gives its inode to no other folder.
type heldFolder struct {
	fs       vfs.FS
	path     string
	identity fileIdentity
	known    bool // the identity is; a file system in memory has none
	close    func() error
}

// holdFolder opens a folder.
func holdFolder(fs vfs.FS, path string) (*heldFolder, error) {
	handle, err := fs.OpenDir(path)
	if err != nil {
		return nil, fmt.Errorf("open the folder %s: %w", path, err)
	}
	f := &heldFolder{fs: fs, path: path, close: sync.OnceValue(handle.Close)}
	info, err := handle.Stat()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("look at the folder %s: %w", path, err), handle.Close())
	}
	f.identity, f.known = identityOf(info)
	return f, nil
}

// look returns what the folder is, or nil if that can't be told for the moment. It returns a
// *GoneError if the path does not lead to the folder any more, or if the folder
// can't be written.
func (f *heldFolder) look() (vfs.FileInfo, error) {
	gone := func(problem, remedy string) (vfs.FileInfo, error) { return nil, &GoneError{f.path, problem, remedy} }
	info, err := f.fs.Stat(f.path)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return gone("was removed, renamed or unmounted while the server ran", folderRemedy)
	}
	if passes(err) {
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
