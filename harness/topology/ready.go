package topology

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/pronybench/prony/harness/adminhttp"
	"github.com/pronybench/prony/harness/result"
)

const (
	pollEvery       = 5 * time.Millisecond
	requestTimeout  = 2 * time.Second
	readyBytesMax   = 4 << 10
	addressBytesMax = 64 << 10
	tokenBytesMax   = 4 << 10
)

// addresses is the content of the server's address file.
type addresses struct {
	PID       int      `json:"pid"`
	Listen    []string `json:"listen"`
	HTTP      string   `json:"http"` // absent if there is no REST listener
	Admin     string   `json:"admin"`
	TokenFile string   `json:"token_file"` // absent if the server needs no token
	// Settings are the settings of the process. Older servers do not write them.
	Settings []result.ServerSetting `json:"settings"`
}

// waitUntilReady waits until all servers are ready: each has written its addresses and reports that
// it is ready, the token is known, and every shard of a cluster has a leader. The wait ends early
// if a server ends, after the start timeout, or when ctx is done.
func (c *Cluster) waitUntilReady(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, c.config.StartTimeout)
	defer cancel()
	for _, wait := range []func(context.Context) error{
		func(ctx context.Context) error {
			return c.eachUntil(ctx, (*Node).waitForAddresses)
		},
		c.checkDefaults,
		c.waitForToken,
		func(ctx context.Context) error { return c.eachUntil(ctx, (*Node).waitUntilReady) },
		c.waitForLeaders,
	} {
		if err := wait(limited); err != nil {
			return c.startError(ctx, limited, err)
		}
	}
	return nil
}

// eachUntil calls wait for all servers concurrently. When the first call fails, it cancels the
// others. It returns the error of that first call.
func (c *Cluster) eachUntil(ctx context.Context, wait func(*Node, context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var once sync.Once
	var first error
	err := c.each(func(s *Server) error {
		err := wait(s.Node(), ctx)
		if err != nil {
			once.Do(func() { first = err })
			cancel()
		}
		return err
	})
	if err != nil {
		return first
	}
	return nil
}

// startError converts the error of a wait to an error that explains why the wait ended. limited is
// ctx with the start timeout.
func (c *Cluster) startError(ctx, limited context.Context, err error) error {
	var late *notYetError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("cancelled before the server was ready: %w", ctx.Err())
	case limited.Err() != nil && errors.As(err, &late):
		return late.node.fail(fmt.Sprintf("the server was not ready within %s", c.config.StartTimeout), late.why)
	case limited.Err() != nil && errors.Is(err, limited.Err()):
		return c.servers[0].Node().fail(fmt.Sprintf("the server was not ready within %s", c.config.StartTimeout), nil)
	}
	return err
}

// notYetError contains the reason why a server was not ready when the wait for it ended.
type notYetError struct {
	node *Node
	why  error
}

func (e *notYetError) Error() string { return e.why.Error() }

// waitForAddresses waits until the server has written its addresses. The addresses of an embedded
// server are already known.
func (n *Node) waitForAddresses(ctx context.Context) error {
	switch {
	case n.Dial != nil:
		return nil
	case n.Remote:
		return n.waitForIntroduction(ctx)
	}
	return n.poll(ctx, func() (bool, error) {
		at, err := readAddresses(n.server.place.addressFile)
		if errors.Is(err, fs.ErrNotExist) {
			return false, errors.New("the address file is missing")
		}
		if err != nil {
			return true, n.fail("the server's address file is malformed", err)
		}
		if at.PID != n.PID {
			return true, n.fail(fmt.Sprintf("the server's address file names process %d, not %d", at.PID, n.PID), nil)
		}
		n.tokenFile = at.TokenFile
		n.settings = withoutPlaces(at.Settings)
		if n.Address == "" {
			n.Address = at.Listen[0]
		}
		if n.Admin == "" {
			n.HTTP, n.Admin = at.HTTP, at.Admin
		}
		if at.Listen[0] != n.Address || at.HTTP != n.HTTP || at.Admin != n.Admin {
			return true, n.fail("the server listens at unexpected addresses", fmt.Errorf("got %s, %s and %s, expected %s, %s and %s",
				at.Listen[0], at.HTTP, at.Admin, n.Address, n.HTTP, n.Admin))
		}
		return true, nil
	})
}

// waitUntilReady waits until the server reports that it is ready. The server's addresses must be
// known.
func (n *Node) waitUntilReady(ctx context.Context) error {
	return n.poll(ctx, func() (bool, error) {
		if err := callReady(ctx, n.server.cluster.Client(n.Admin)); err != nil {
			return false, err
		}
		if n.Remote {
			return n.server.describe(ctx, n)
		}
		return true, nil
	})
}

// waitForToken waits for an access token that the cluster accepts, and stores it. A node writes its
// token file before the token is committed. If the node loses its leadership between the two, its
// file remains, but its token may never become valid, and the next leader creates another token.
func (c *Cluster) waitForToken(ctx context.Context) error {
	if c.Token != "" || len(c.servers) == 0 || c.servers[0].Node().tokenFile == "" {
		return nil
	}
	return c.servers[0].Node().poll(ctx, func() (bool, error) {
		refused := errors.New("no node has created an access token")
		for _, s := range c.servers {
			n := s.Node()
			var token string
			var err error
			if s.remote != nil {
				token, err = s.remote.readToken(ctx, n.tokenFile)
			} else {
				token, err = readToken(n.tokenFile)
			}
			switch {
			case err == nil:
				if err := c.accepts(ctx, token); err != nil {
					refused = fmt.Errorf("the access token of %s: %w", s.ID, err)
					continue
				}
				c.Token = token
				return true, nil
			case s.ID == "" || !errors.Is(err, fs.ErrNotExist):
				return true, n.fail("the server's token can't be read", err)
			case !n.Running():
				return true, n.fail("the server ended before it was ready", nil)
			}
		}
		return false, refused
	})
}

// accepts returns nil if a node of the cluster accepts the token. Without a cluster it always
// returns nil, because such a server writes only valid tokens.
func (c *Cluster) accepts(ctx context.Context, token string) error {
	if !c.config.Topology.Clustered() {
		return nil
	}
	var errs []error
	for _, s := range c.servers {
		client := c.Client(s.Node().HTTP)
		client.Token = token
		_, err := fetchRoutes(ctx, client)
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// poll calls try repeatedly until try is done, the server ends, or ctx is done. try may be done
// with an error. An error that try returns while it is not done is the reason why the server is not
// ready yet.
func (n *Node) poll(ctx context.Context, try func() (done bool, err error)) error {
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	notYet := errors.New("no request was made")
	for {
		select {
		case <-n.process.Done():
			return n.fail("the server ended before it was ready", nil)
		case <-ctx.Done():
			return errors.Join(&notYetError{n, notYet}, ctx.Err())
		case <-ticker.C:
		}
		done, err := try()
		switch {
		case done:
			return err
		case err != nil && ctx.Err() == nil:
			notYet = err // report the last answer, not the end of the wait
		}
	}
}

// readAddresses reads the address file. The server creates this file atomically.
func readAddresses(path string) (addresses, error) {
	file, err := os.Open(path)
	if err != nil {
		return addresses{}, err
	}
	defer func() { _ = file.Close() }() // the file was opened only for reading
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

func readToken(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	return tokenOf(path, data)
}

func tokenOf(path string, data []byte) (string, error) {
	token := strings.TrimSuffix(string(data), "\n")
	if token == "" || len(token) > tokenBytesMax || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("%s does not hold a token: one line of at most %d printable characters", path, tokenBytesMax)
	}
	return token, nil
}

func callReady(ctx context.Context, admin adminhttp.Client) error {
	_, err := admin.Get(ctx, "/readyz", requestTimeout, readyBytesMax)
	return err
}
