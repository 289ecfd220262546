package k6

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/pronybench/prony/engine/client"
)

// What `queued serve` goes by too: where its data is, and the file there that has its operators' token.
const (
	dataEnv        = "QUEUED_DATA"
	dataDefault    = "data"
	adminTokenFile = "admin.token"
)

// secretBytesMax bounds a token's file.
const secretBytesMax = 4096

// localToken returns the token that a server on this host keeps for its operators, as its own commands find it: in QUEUED_DATA, or
// in ./data. The token is "" if an address may be that of another host, if no such file exists, or if this user
// may not read the file: the server may not ask for a token.
func (p *process) localToken(addresses string) (string, error) {
	for _, address := range strings.Split(addresses, ",") {
		if !client.OnThisHost(strings.TrimSpace(address)) {
			return "", nil
		}
	}
	path := filepath.Join(p.env(dataEnv, dataDefault), adminTokenFile)
	info, err := os.Stat(path)
	if err == nil && (!info.Mode().IsRegular() || info.Size() > secretBytesMax) {
		err = fmt.Errorf("%s is not a file with a token", path)
	}
	var text []byte
	if err == nil {
		text, err = os.ReadFile(path)
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("token: read the server's: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}
