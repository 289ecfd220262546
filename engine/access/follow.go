package access

import (
	"context"
	"fmt"
)

// Follow brings the registry to what its store holds: another node of a cluster changed it. Streams of what is good no
// longer end; those of tokens that stay, stay.
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

// keepIdentities has the secrets that a token had before be whom they were.
func (t *token) keepIdentities(was *token) {
	if t.Scopes != was.Scopes || t.Tenant != was.Tenant {
		return // they are somebody else now
	}
	for _, s := range t.secrets {
		for _, old := range was.secrets {
			if s.hash == old.hash {
				s.identity = old.identity
			}
		}
	}
}
