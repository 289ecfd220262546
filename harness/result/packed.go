package result

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// PackedSuffix ends the name of a file that is compressed with zstd. The repository stores
// published results so; zstdcat prints them. All functions of this package that read a file take
// the name without the suffix and read either form.
const PackedSuffix = ".zst"

// unpackedMax bounds the memory for one file, in bytes.
const unpackedMax = 256 << 20

var zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}

// WritePacked writes the compressed form of data to path with PackedSuffix, as WriteFile does, and
// removes the file at path, which readers would prefer.
func WritePacked(path string, data []byte) error {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return fmt.Errorf("compress %s: %w", path, err)
	}
	packed := encoder.EncodeAll(data, nil)
	if err := encoder.Close(); err != nil {
		return fmt.Errorf("compress %s: %w", path, err)
	}
	if err := WriteFile(path+PackedSuffix, packed); err != nil {
		return err
	}
	if err := removeIfThere(path); err != nil {
		return fmt.Errorf("remove the file that %s replaces: %w", path+PackedSuffix, err)
	}
	return nil
}

// ReadFile returns the content of the file at path, or of its compressed form if there is no such
// file. The error is fs.ErrNotExist if there is neither.
func ReadFile(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return data, err
	}
	packed, packedErr := os.ReadFile(path + PackedSuffix)
	switch {
	case errors.Is(packedErr, fs.ErrNotExist):
		return nil, err
	case packedErr != nil:
		return nil, packedErr
	}
	return Unpack(path+PackedSuffix, packed)
}

// Unpack returns the content of a file, decompressed if it has the compressed form. Errors call the
// file name. It refuses content above 256 MiB.
func Unpack(name string, data []byte) ([]byte, error) {
	if !bytes.HasPrefix(data, zstdMagic) {
		return data, nil
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(unpackedMax))
	if err != nil {
		return nil, fmt.Errorf("decompress %s: %w", name, err)
	}
	defer decoder.Close()
	content, err := decoder.DecodeAll(data, nil)
	if err != nil {
		return nil, fmt.Errorf("decompress %s: corrupt: %w", name, err)
	}
	return content, nil
}

// Exists reports whether a folder has a file of that name, in either form.
func Exists(dir, name string) (bool, error) {
	for _, form := range []string{name, name + PackedSuffix} {
		_, err := os.Stat(filepath.Join(dir, form))
		if !errors.Is(err, fs.ErrNotExist) {
			return err == nil, err
		}
	}
	return false, nil
}

// Glob returns the files that match a pattern, as filepath.Glob does, in either form. The names are
// sorted and lack PackedSuffix.
func Glob(pattern string) ([]string, error) {
	var all []string
	for _, form := range []string{pattern, pattern + PackedSuffix} {
		found, err := filepath.Glob(form)
		if err != nil {
			return nil, fmt.Errorf("look for %s: %w", pattern, err)
		}
		all = append(all, found...)
	}
	for i := range all {
		all[i] = strings.TrimSuffix(all[i], PackedSuffix)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}
