package peer

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// secretMax bounds the file of a secret, in bytes.
const secretMax = 4 << 10

// ReadSecret reads the secret of a cluster from a file that only its owner may read. Line ends at the end of the file do not
// count.
func ReadSecret(path string) ([]byte, error) {
	secret, err := readSecret(path)
	if err != nil {
		return nil, fmt.Errorf("cluster secret %s: %w", path, err)
	}
	return secret, nil
}

func readSecret(path string) (secret []byte, err error) {
	if info, err := os.Stat(path); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() { // to open a pipe could take for ever
		return nil, errors.New("it is not a file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 && !isCredential(path, mode) {
		return nil, fmt.Errorf("its mode %04o lets others than its owner at it: chmod 600 %s", mode, path)
	}
	secret, err = io.ReadAll(io.LimitReader(f, secretMax+1))
	if err != nil {
		return nil, err
	}
	if len(secret) > secretMax {
		return nil, fmt.Errorf("it has more than %d bytes", secretMax)
	}
	secret = bytes.TrimRight(secret, "\r\n")
	if len(secret) < SecretMin {
		return nil, fmt.Errorf("it has %d bytes, and needs %d or more: write one with 'openssl rand -hex 32'", len(secret), SecretMin)
	}
	return secret, nil
}

// isCredential tells whether systemd guards a file: it gives the service's user access by an access control list, the
// mask of which looks like access of the group.
func isCredential(path string, mode os.FileMode) bool {
	dir := os.Getenv("CREDENTIALS_DIRECTORY")
	return dir != "" && filepath.Dir(filepath.Clean(path)) == filepath.Clean(dir) && mode&0o037 == 0
}
