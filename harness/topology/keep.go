package topology

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

const (
	// KeptDir is the folder in Config.Keep that contains the servers' folders, the certificates and
	// stateFile.
	KeptDir = "servers"
	// stateFile describes how to start the servers in KeptDir. It is written when the servers can
	// be started. If a folder has no stateFile, there are no servers to resume.
	stateFile    = "state.json"
	stateVersion = 1
)

// state is the content of stateFile.
type state struct {
	Version  int               `json:"version"`
	Topology scenario.Topology `json:"topology"`
	Servers  []keptServer      `json:"servers"`
	// Served is set when all servers have been ready once. Token is then known.
	Served bool   `json:"served"`
	Token  string `json:"token,omitempty"`
}

// keptServer contains the properties of a server that are the same after each start, except its
// folder. The address of a port that is not reserved is "".
type keptServer struct {
	ID     string `json:"id"`
	Listen string `json:"listen"`
	HTTP   string `json:"http"`
	Admin  string `json:"admin"`
	Peer   string `json:"peer"`
}

// Kept reports whether folder contains servers that Resume can start. folder is a value of
// Config.Keep.
func Kept(folder string) (bool, error) {
	_, err := os.Stat(filepath.Join(folder, KeptDir, stateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Resume starts the servers in Config.Keep with their existing data, ports and certificates. It
// does not matter how the process that ran them ended. Resume returns and fails like Start, except
// that the folder remains. The topology must be the same as at the first start. Logs are appended
// to.
//
// When a process is killed, its servers die too. Resume waits at most 5 s until the ports of such
// servers are free. If a server survives, it still holds the lock of its data, and Resume fails.
func Resume(ctx context.Context, config Config) (*Cluster, error) {
	c, err := resume(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("resume topology: %w", err)
	}
	return c, nil
}

func resume(ctx context.Context, config Config) (*Cluster, error) {
	if err := config.prepare(); err != nil {
		return nil, err
	}
	kept, err := readState(filepath.Join(config.Keep, KeptDir, stateFile), config.Topology)
	if err != nil {
		return nil, err
	}
	c, err := newCluster(ctx, config, kept)
	if err != nil {
		return nil, err
	}
	for _, s := range c.servers {
		if err := s.forgetAddresses(); err != nil {
			return nil, errors.Join(err, c.remove())
		}
		left, err := os.ReadDir(s.place.data)
		if err != nil {
			return nil, errors.Join(err, c.remove())
		}
		// if set, the server must join the cluster instead of creating one
		s.wiped = kept.Served && len(left) == 0
	}
	return c, c.resume(ctx, os.O_APPEND)
}

func readState(path string, want scenario.Topology) (*state, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the state of the servers: %w", err)
	}
	var kept state
	if err := json.Unmarshal(text, &kept); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", path, err)
	}
	if kept.Version != stateVersion {
		return nil, fmt.Errorf("%s has version %d, expected %d: use the version of prony that wrote it", path, kept.Version, stateVersion)
	}
	was, err := json.Marshal(kept.Topology)
	if err != nil {
		return nil, err
	}
	is, err := json.Marshal(want)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(was, is) {
		return nil, fmt.Errorf("the servers in %s have the topology %s, the scenario has %s: use the scenario of the first start, or another folder",
			filepath.Dir(path), was, is)
	}
	return &kept, nil
}

// makeKeptRoot creates the folder KeptDir in Config.Keep. It first removes the remains of a start
// that failed before it wrote its state.
func (c *Cluster) makeKeptRoot() error {
	root := filepath.Join(c.config.Keep, KeptDir)
	if there, err := Kept(c.config.Keep); err != nil {
		return err
	} else if there {
		return fmt.Errorf("%s contains servers: resume them, or use another folder", root)
	}
	if err := os.RemoveAll(root); err != nil {
		return err
	}
	c.root = root
	// only this user may read the folder, because it contains the token
	return os.Mkdir(root, 0o700)
}

func (c *Cluster) saveState(served bool) error {
	if c.config.Keep == "" || c.served {
		return nil
	}
	kept := state{Version: stateVersion, Topology: c.config.Topology, Served: served, Token: c.Token}
	for _, s := range c.servers {
		kept.Servers = append(kept.Servers, keptServer{
			ID: s.ID, Listen: s.ports.listen.address, HTTP: s.ports.http.address, Admin: s.ports.admin.address, Peer: s.ports.peer.address,
		})
	}
	text, err := json.MarshalIndent(kept, "", "  ")
	if err != nil {
		return err
	}
	c.served = served
	return result.WriteFile(filepath.Join(c.root, stateFile), append(text, '\n'))
}
