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

// PackedSuffix is the suffix of the name of a file that is compressed with zstd. The repository
// stores published results in this form; zstdcat prints them. All functions of this package that
// read a file expect the name without the suffix and read either form.
const PackedSuffix = ".zst"

// unpackedMax is the maximum memory for the content of one file, in bytes.
const unpackedMax = 256 << 20

var zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}

// WritePacked compresses data and writes it to path with PackedSuffix, as WriteFile does. It then
// removes the file at path without the suffix, because readers would prefer that file.
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

// ReadFile returns the content of the file at path. If there is no such file, it returns the
// content of the compressed form. The error is fs.ErrNotExist if there is neither.
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

// Unpack returns the content of a file. It decompresses data in the compressed form. Errors refer
// to the file as name. Unpack fails if the content is larger than 256 MiB.
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

// Exists reports whether a folder contains a file of that name, in either form.
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
