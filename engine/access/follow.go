package access

import (
	"context"
	"fmt"
)

// Follow reads the registry again from its store, after another node of a cluster has changed it.
// It ends the identities of secrets that are no longer valid, and preserves the others.
func (r *Registry) Follow(ctx context.Context) error {
	select {
	case r.writing <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-r.writing }()
	records, err := r.store.Load(ctx)
	if err != nil {
		return fmt.Errorf("load the access records: %w", err)
	}
	after, err := decodeAll(records)
	if err != nil {
		return err
	}
	before := r.current.Load()
	for id, t := range after.tokens {
		if was := before.tokens[id]; was != nil {
			t.keepIdentities(was)
		}
	}
	r.current.Store(after)
	r.follow(before, after)
	return nil
}

// keepIdentities copies the identities of unchanged secrets from the token's previous version, so
// that their streams continue. It copies nothing if the token's tenant or scopes changed.
func (t *token) keepIdentities(was *token) {
	if t.Scopes != was.Scopes || t.Tenant != was.Tenant {
		return
	}
	for _, s := range t.secrets {
		for _, old := range was.secrets {
			if s.hash == old.hash {
				s.identity = old.identity
			}
		}
	}
}
