package topology

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"time"
)

const (
	pollEvery           = 5 * time.Millisecond
	readyRequestTimeout = 2 * time.Second
	addressBytesMax     = 64 << 10
	tokenBytesMax       = 4 << 10
)

// addresses is what the server says of itself in its address file.
type addresses struct {
	PID       int      `json:"pid"`
	Listen    []string `json:"listen"`
	HTTP      string   `json:"http"` // absent where there is none
	Admin     string   `json:"admin"`
	TokenFile string   `json:"token_file"` // absent where none is wanted
}

// waitUntilReady waits until the server has told its addresses and says that it is ready. The
// server ending, the timeout and ctx end the wait.
func (n *Node) waitUntilReady(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, n.config.StartTimeout)
	defer cancel()
	told := false
	var notYet error
	err := n.poll(limited, func() (bool, error) {
		if !told {
			at, err := readAddresses(n.place.addressFile)
			if errors.Is(err, fs.ErrNotExist) {
				notYet = errors.New("it has not written its address file")
				return false, nil
			}
			if err != nil {
				return false, n.fail("the server's address file is malformed", err)
			}
			if at.PID != n.PID {
				return false, n.fail(fmt.Sprintf("the server's address file names process %d, not %d", at.PID, n.PID), nil)
			}
			if at.TokenFile != "" {
				if n.Token, err = readToken(at.TokenFile); err != nil {
					return false, n.fail("the server's token can't be read", err)
				}
			}
			n.Address, n.HTTP, n.Admin, told = at.Listen[0], at.HTTP, at.Admin, true
			notYet = errors.New("it has not answered GET /readyz")
		}
		err := askReady(limited, n.Admin)
		if err != nil && limited.Err() == nil {
			notYet = err // the last answer, rather than that the wait was over
		}
		return err == nil, nil
	})
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("given up before the server was ready: %w", ctx.Err())
	case limited.Err() != nil && errors.Is(err, limited.Err()):
		return n.fail(fmt.Sprintf("the server was not ready within %s", n.config.StartTimeout), notYet)
	}
	return err
}

// poll calls try until it is done or fails, the server ends, or ctx is done.
func (n *Node) poll(ctx context.Context, try func() (done bool, err error)) error {
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		select {
		case <-n.process.exited:
			return n.fail("the server ended before it was ready", nil)
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
		if done, err := try(); done || err != nil {
			return err
		}
	}
}

// readAddresses reads the address file, which appears complete or not at all.
func readAddresses(path string) (addresses, error) {
	file, err := os.Open(path)
	if err != nil {
		return addresses{}, err
	}
	defer func() { _ = file.Close() }() // only read
	data, err := io.ReadAll(io.LimitReader(file, addressBytesMax))
	if err != nil {
		return addresses{}, err
	}
	var at addresses
	if err := json.Unmarshal(data, &at); err != nil {
		return addresses{}, fmt.Errorf("%w: %.200q", err, data)
	}
	if len(at.Listen) == 0 || at.Listen[0] == "" || at.Admin == "" {
		return addresses{}, fmt.Errorf("an address is missing: %.200q", data)
	}
	return at, nil
}

// readToken reads the secret in a server's token file, which is one line.
func readToken(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	token := strings.TrimSuffix(string(data), "\n")
	if token == "" || len(token) > tokenBytesMax || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("%s does not hold a token: one line of at most %d printable characters", path, tokenBytesMax)
	}
	return token, nil
}

// askReady returns nil when the server says that it is ready.
func askReady(ctx context.Context, admin string) error {
	ctx, cancel := context.WithTimeout(ctx, readyRequestTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+admin+"/readyz", http.NoBody)
	if err != nil {
		return err
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	body, readErr := io.ReadAll(io.LimitReader(response.Body, 200))
	if err := errors.Join(readErr, response.Body.Close()); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("GET /readyz: %s: %s", response.Status, body)
	}
	return nil
}
