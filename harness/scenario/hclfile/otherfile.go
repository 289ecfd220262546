package hclfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// FileSpec says what an attribute that names another file may be.
type FileSpec struct {
	BytesMax int // of the file's content
	Required bool
	Example  string
}

// pathBytesMax bounds a path, as written.
const pathBytesMax = 500

// OtherFile returns the path of the regular file that an attribute names, and what is in it. The attribute is a path relative
// to the file that it is written in; what is returned is relative to the working directory, or absolute where that file's path
// is. The path is "" after a problem was noted, and of an attribute that is absent.
func (b *Block) OtherFile(name string, spec FileSpec) (path string, content []byte) {
	text := b.Text(name, TextSpec{MaxBytes: pathBytesMax, Required: spec.Required, Example: spec.Example})
	if text == "" {
		return "", nil
	}
	const remedy = "a path is relative to the file that it is written in"
	if filepath.IsAbs(text) {
		b.AttrProblem(name, fmt.Sprintf("%s is %q, which is not a relative path", name, clip(text)), remedy)
		return "", nil
	}
	path = filepath.Join(filepath.Dir(b.attrs[name].f.name), filepath.FromSlash(text))
	content, err := b.r.other(path, spec.BytesMax)
	switch {
	case err != nil:
		b.AttrProblem(name, fmt.Sprintf("%s is %q, and %s %v", name, clip(text), clip(path), err), remedy)
	case len(content) > spec.BytesMax:
		b.AttrProblem(name, fmt.Sprintf("%s is %q, which is larger than %d KiB", name, clip(text), spec.BytesMax>>10), "name a smaller file")
	default:
		return path, content
	}
	return "", nil
}

// other reads a file of another kind, up to a little more than so many bytes.
func (r *Reader) other(path string, bytesMax int) ([]byte, error) {
	if r.Read != nil {
		return r.Read(path)
	}
	return readRegular(path, bytesMax)
}

var errNotRegular = errors.New("is not a regular file")

// readRegular returns what is in a regular file, up to one byte more than so many. Its errors do not name the path.
func readRegular(path string, bytesMax int) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %w", reason(err))
	}
	if !info.Mode().IsRegular() {
		return nil, errNotRegular
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot be read: %w", reason(err))
	}
	src, err := io.ReadAll(io.LimitReader(f, int64(bytesMax)+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("cannot be read: %w", reason(err))
	}
	return src, nil
}
