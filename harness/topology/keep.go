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
	// KeptDir is the folder in Config.Keep that holds the servers' folders and certificates, and stateFile.
	KeptDir = "servers"
	// stateFile says how the servers in KeptDir are started. It is written when they can be started, so a folder without it holds none.
	stateFile    = "state.json"
	stateVersion = 1
)

// state is the content of stateFile.
type state struct {
	Version  int               `json:"version"`
	Topology scenario.Topology `json:"topology"`
	Servers  []keptServer      `json:"servers"`
	// Served is set once all servers were ready, and Token is known then.
	Served bool   `json:"served"`
	Token  string `json:"token,omitempty"`
}

// keptServer is what a server has in all of its starts, beside its folder. A port that it does not reserve is "".
type keptServer struct {
	ID     string `json:"id"`
	Listen string `json:"listen"`
	HTTP   string `json:"http"`
	Admin  string `json:"admin"`
	Peer   string `json:"peer"`
}

// Kept reports whether a folder, Config.Keep, holds servers that Resume can start.
func Kept(folder string) (bool, error) {
	_, err := os.Stat(filepath.Join(folder, KeptDir, stateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Resume starts the servers that Config.Keep holds on the data, ports and certificates that they had, whatever became of the process
// that ran them before. It returns, and fails, as Start does, but for the folder: that stays. The topology must be the one that they were
// started with. The logs go on.
//
// A server of a process that was killed dies with it. Resume waits 5 s for the ports that such a server still has; one that lives on
// holds the lock of its data, and Resume fails.
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
		s.wiped = kept.Served && len(left) == 0 // it must not start a cluster of its own
	}
	return c, c.resume(ctx, os.O_APPEND)
}

func readState(path string, want scenario.Topology) (*state, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read how the servers are started: %w", err)
	}
	var kept state
	if err := json.Unmarshal(text, &kept); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", path, err)
	}
	if kept.Version != stateVersion {
		return nil, fmt.Errorf("%s has version %d, and must have version %d: use the program that wrote it", path, kept.Version, stateVersion)
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
		return nil, fmt.Errorf("the servers in %s have the topology %s, the scenario has %s: use the scenario that they were started with, or another folder",
			filepath.Dir(path), was, is)
	}
	return &kept, nil
}

// makeKeptRoot makes the folder for the servers' folders in Config.Keep. What a start left there that did not get as far as its state is
// removed.
func (c *Cluster) makeKeptRoot() error {
	root := filepath.Join(c.config.Keep, KeptDir)
	if there, err := Kept(c.config.Keep); err != nil {
		return err
	} else if there {
		return fmt.Errorf("%s holds servers: resume them, or use another folder", root)
	}
	if err := os.RemoveAll(root); err != nil {
		return err
	}
	c.root = root
	return os.Mkdir(root, 0o700) // it holds the token
}

// saveState stores how the servers are started, if they are kept.
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
