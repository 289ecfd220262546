package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/rpc/call"
	"github.com/pronybench/prony/engine/storage"
)

func (n *Node) openAccess(c Config, store access.Store) error {
	ctx := context.Background() // the store is in this process: it answers or fails
	if err := n.registry.Load(ctx, store); err != nil {
		return err
	}
	if !c.Auth {
		n.auth = call.NoAuth()
		n.log.Warn("authentication is off: everybody who can connect is an operator")
		return nil
	}
	n.auth = call.NewAuth(n.registry)
	if n.cluster != nil {
		n.auth = call.NewAuthBehind(n.registry, n.cluster.LacksTokens)
	}
	n.auth.ObserveRefusals(n.metrics.RefusedByHeaders)
	path, err := filepath.Abs(filepath.Join(c.DataDir, adminTokenFile))
	if err != nil {
		return fmt.Errorf("find the admin token's file: %w", err)
	}
	n.tokenFile = path
	if err := n.keepAdminToken(n.cluster == nil); err != nil {
		return err
	}
	if n.cluster != nil { // the leader of the cluster creates the token
		n.cluster.EnsureAdminToken(c.NewAdminToken)
		return nil
	}
	if !n.registry.Empty() && !c.NewAdminToken {
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			n.log.Info("the admin token's file is missing: start once with a new admin token if there is no other operator's token", "path", path)
		}
		return nil
	}
	return n.makeAdminToken(ctx)
}

// systemRecords reads and writes the node's own records in shard 0.
type systemRecords interface {
	System() ([]storage.SystemRecord, error)
	PutSystem(records []storage.SystemRecord, reply func(struct{}, error)) error
}

// accessStore stores the registry's records as system records.
type accessStore struct{ records systemRecords }

// Load implements access.Store.
func (s accessStore) Load(context.Context) ([]access.Record, error) {
	stored, err := s.records.System()
	if err != nil {
		return nil, err
	}
	out := make([]access.Record, len(stored))
	for i, r := range stored {
		out[i] = access.Record{Key: r.Key, Value: r.Value}
	}
	return out, nil
}

// Save implements access.Store. It ignores the context: the shard always answers, so the wait ends.
func (s accessStore) Save(_ context.Context, puts []access.Record, deletes []string) error {
	var records []storage.SystemRecord
	for _, key := range deletes {
		records = append(records, storage.SystemRecord{Key: key})
	}
	for _, r := range puts {
		records = append(records, storage.SystemRecord{Key: r.Key, Value: r.Value})
	}
	done := make(chan error, 1)
	if err := s.records.PutSystem(records, func(_ struct{}, err error) { done <- err }); err != nil {
		return err
	}
	return <-done
}
