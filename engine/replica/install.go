package replica

import (
	"archive/tar"
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/pronybench/prony/engine/storage/disk"
)

// A store is sent as a tar archive of its files. All files are in one folder, so their names have
// no path.

const (
	tarBlock    = 512
	tarEndBytes = 2 * tarBlock
	copyBuffer  = 256 << 10
)

// checkpoint writes a copy of the current store to dir. If it finds damage, it reports it.
func (s *localStore) checkpoint(dir string) error {
	s.inUse.RLock()
	defer s.inUse.RUnlock()
	err := s.store.Load().Checkpoint(dir)
	if damaged := (*disk.DamagedError)(nil); errors.As(err, &damaged) {
		s.reportDamage(damaged)
	}
	return err
}

// copyStore returns a copy of the store as a stream of known size. The copy consists of hard links
// to the store's files; closing the stream removes the links.
func (s *snapshots) copyStore() (size int64, _ io.ReadCloser, err error) {
	parent, err := os.MkdirTemp(s.dir, copyName+"-")
	if err != nil {
		return 0, nil, fmt.Errorf("copy the store: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(parent))
		}
	}()
	dir := filepath.Join(parent, "store")
	if err := s.checkpoint(dir); err != nil {
		return 0, nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, nil, fmt.Errorf("copy the store: %w", err)
	}
	size = tarEndBytes
	var files []os.FileInfo
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return 0, nil, fmt.Errorf("copy the store: %w", err)
		}
		if !info.Mode().IsRegular() {
			return 0, nil, fmt.Errorf("copy the store: %s is not a file", info.Name())
		}
		files = append(files, info)
		size += tarBlock + (info.Size()+tarBlock-1)/tarBlock*tarBlock
	}
	reader, writer := io.Pipe()
	c := &copying{PipeReader: reader, dir: parent, done: make(chan struct{})}
	go func() {
		defer close(c.done)
		writer.CloseWithError(sendFiles(writer, dir, files))
	}()
	return size, c, nil
}

// copying is a stream of a copy of the store.
type copying struct {
	*io.PipeReader

	dir  string
	done chan struct{} // closed once nothing reads the files of the copy any longer
}

// Close implements io.Closer.
func (c *copying) Close() error {
	err := c.PipeReader.Close()
	<-c.done
	return errors.Join(err, os.RemoveAll(c.dir))
}

func sendFiles(to io.Writer, dir string, files []os.FileInfo) error {
	buffered := bufio.NewWriterSize(to, copyBuffer)
	w := tar.NewWriter(buffered)
	for _, info := range files {
		if err := sendFile(w, filepath.Join(dir, info.Name()), info); err != nil {
			return fmt.Errorf("send %s: %w", info.Name(), err)
		}
	}
	if err := errors.Join(w.Close(), buffered.Flush()); err != nil {
		return fmt.Errorf("send the store: %w", err)
	}
	return nil
}

func sendFile(w *tar.Writer, path string, info os.FileInfo) (err error) {
	err = w.WriteHeader(&tar.Header{Name: info.Name(), Size: info.Size(), Mode: 0o600, Typeflag: tar.TypeReg, Format: tar.FormatUSTAR})
	if err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = io.CopyN(w, f, info.Size())
	return err
}

// installLocked builds the store from the received file. The caller holds inUse. After a crash at
// any point, the next start repeats the installation from the beginning. This is possible because
// the old store is removed only once the received file is complete, and the received file is
// removed only once the new store is complete.
func (s *localStore) installLocked() error {
	received := s.snapshots.toInstall()
	if received == "" {
		return errors.New("no snapshot was received")
	}
	if old := s.store.Load(); old != nil {
		if err := old.Close(); err != nil {
			return fmt.Errorf("close the old store: %w", err)
		}
	}
	fresh := s.options.Dir + ".new"
	if err := errors.Join(os.RemoveAll(fresh), os.RemoveAll(s.options.Dir)); err != nil {
		return fmt.Errorf("remove the old store: %w", err)
	}
	if err := unpack(received, fresh); err != nil {
		return err
	}
	if err := os.Rename(fresh, s.options.Dir); err != nil {
		return fmt.Errorf("rename the new store: %w", err)
	}
	if err := disk.SyncFolder(filepath.Dir(s.options.Dir)); err != nil {
		return fmt.Errorf("rename the new store: %w", err)
	}
	if err := s.reopen(); err != nil {
		return err
	}
	s.damage.Store(nil) // only the previous store was damaged
	return s.snapshots.installed(s.store.Load().Position().Index)
}

// checkReceived verifies every byte of the files of a received store. A damaged store must be
// neither installed nor sent to another member.
func checkReceived(f *os.File) (err error) {
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("read the received snapshot: %w", err)
	}
	content := io.NewSectionReader(f, 0, info.Size())
	from := tar.NewReader(content)
	var names []string
	files := map[string]*io.SectionReader{}
	for {
		h, err := from.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("read the received snapshot: %w", err)
		}
		at, err := content.Seek(0, io.SeekCurrent) // the tar reader does not read ahead
		if err != nil {
			return fmt.Errorf("read the received snapshot: %w", err)
		}
		names = append(names, h.Name)
		files[h.Name] = io.NewSectionReader(f, at, h.Size)
	}
	err = disk.CheckCopy(names, func(name string) (*io.SectionReader, func() error, error) {
		return files[name], func() error { return nil }, nil
	})
	if err != nil {
		return fmt.Errorf("check the received store: %w", err)
	}
	return nil
}

func unpack(path, dir string) (err error) {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read the received snapshot: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := os.Mkdir(dir, 0o700); err != nil {
		return fmt.Errorf("make the new store: %w", err)
	}
	from := tar.NewReader(bufio.NewReaderSize(f, copyBuffer))
	for {
		h, err := from.Next()
		if errors.Is(err, io.EOF) {
			return disk.SyncFolder(dir)
		}
		if err != nil {
			return fmt.Errorf("read the received snapshot: %w", err)
		}
		if h.Name != filepath.Base(h.Name) || h.Typeflag != tar.TypeReg {
			return fmt.Errorf("the received snapshot contains %q, which is not a file of a store", h.Name)
		}
		if err := writeFrom(from, filepath.Join(dir, h.Name), h.Size); err != nil {
			return fmt.Errorf("make the new store: %w", err)
		}
	}
}

func writeFrom(from io.Reader, path string, size int64) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.CopyN(f, from, size)
	return errors.Join(err, f.Sync(), f.Close())
}
