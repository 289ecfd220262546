package topology

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// startFresh starts one server on an empty data folder.
func startFresh(ctx context.Context, config Config) (*Node, error) {
	place, err := makeFolders(config)
	if err != nil {
		return nil, fmt.Errorf("start topology: %w", err)
	}
	node, err := startIn(ctx, config, place, os.O_TRUNC)
	if err != nil {
		return nil, fmt.Errorf("start topology: %w", err)
	}
	return node, nil
}

// startIn starts a server on the data folder of a place, with its log truncated or appended to, and returns when it is
// ready. When it fails the place is gone.
func startIn(ctx context.Context, config Config, place folders, log int) (*Node, error) {
	node, err := startNode(config, place, place.arguments(config), log)
	if err != nil {
		return nil, errors.Join(err, place.remove())
	}
	if err := node.waitUntilReady(ctx); err != nil {
		return nil, errors.Join(err, node.discard())
	}
	return node, nil
}

// folders are the places on disk that belong to one server and are removed with it.
type folders struct {
	root        string // holds data and addressFile
	data        string
	addressFile string
	socketDir   string // holds socket; empty without one
	socket      string
}

// socketPathBytesMax is the longest path that a Unix socket can be bound to on Linux (sun_path less
// its final zero byte).
const socketPathBytesMax = 107

func makeFolders(config Config) (_ folders, err error) {
	var f folders
	defer func() {
		if err != nil {
			err = errors.Join(err, f.remove())
		}
	}()
	dir, err := filepath.Abs(config.Dir)
	if err != nil {
		return f, err
	}
	if f.root, err = os.MkdirTemp(dir, "server-"); err != nil {
		return f, fmt.Errorf("make the server's folder: %w", err)
	}
	f.data = filepath.Join(f.root, "data")
	if err := os.Mkdir(f.data, 0o755); err != nil {
		return f, fmt.Errorf("make the server's data folder: %w", err)
	}
	f.addressFile = filepath.Join(f.root, "address.json")
	if config.Topology.Listen != "unix" {
		return f, nil
	}
	// The data folder's path may be longer than a socket's may be.
	if f.socketDir, err = os.MkdirTemp("", "prony-"); err != nil {
		return f, fmt.Errorf("make a folder for the socket: %w", err)
	}
	f.socket = filepath.Join(f.socketDir, "queue.sock")
	if len(f.socket) > socketPathBytesMax {
		return f, fmt.Errorf("the socket's path %s has %d bytes, at most %d are possible; set TMPDIR to a shorter folder", f.socket, len(f.socket), socketPathBytesMax)
	}
	return f, nil
}

// remove deletes the folders and all that the server left in them.
func (f folders) remove() error {
	var errs []error
	for _, dir := range []string{f.root, f.socketDir} {
		if dir == "" {
			continue
		}
		if err := os.RemoveAll(dir); err != nil {
			errs = append(errs, fmt.Errorf("remove the server's folder: %w", err))
		}
	}
	return errors.Join(errs...)
}

// arguments returns the server's command line after its name. Ports are the system's to choose.
func (f folders) arguments(config Config) []string {
	listen := "127.0.0.1:0"
	if f.socket != "" {
		listen = "unix:" + f.socket
	}
	args := []string{
		"serve",
		"--data", f.data,
		"--listen", listen,
		"--http", "127.0.0.1:0",
		"--admin", "127.0.0.1:0",
		"--durability", config.Topology.Durability,
	}
	if config.Topology.Kind == "sharded" {
		args = append(args, "--shards", strconv.Itoa(config.Topology.Shards))
	}
	if config.Topology.SyncInterval > 0 {
		args = append(args, "--sync-interval", config.Topology.SyncInterval.String())
	}
	if config.Topology.BusyPoll {
		args = append(args, "--busy-poll")
	}
	return append(args, "--address-file", f.addressFile)
}
