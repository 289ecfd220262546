package access

import (
	"cmp"
	"context"
	"crypto/subtle"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/pronybench/prony/engine/queue"
)

// Limits of tokens.
const (
	// TokensMax is the maximum number of tokens in a registry.
	TokensMax = 10_000
	// TenantTokensMax is the maximum number of tokens of one tenant, so that no tenant uses up
	// TokensMax.
	TenantTokensMax = 100
	// NoteBytesMax is the maximum length of a note in bytes.
	NoteBytesMax = 256
	// LifeMsMax is the maximum life of a token that expires: 100 years.
	LifeMsMax = 100 * 365 * 24 * 3600_000
	// GraceMsMax is the maximum grace time of a replaced secret: 30 days.
	GraceMsMax = 30 * 24 * 3600_000

	// secretsMax is the maximum number of valid secrets of a token: the newest secret, and replaced
	// secrets in their grace time.
	secretsMax = 5
	// expiredKeptMs is how long an expired token remains in lists, so that its owner can see why it
	// no longer works.
	expiredKeptMs = 24 * 3600_000
)

// Token describes an access token, without its secret.
type Token struct {
	// ID identifies the token in calls and logs. It is public.
	ID     string
	Tenant string // or AllTenants
	Scopes Scopes
	Note   string
	// Unix milliseconds; ExpiresAtMs is 0 for a token that does not expire.
	CreatedAtMs, ExpiresAtMs int64
}

// NewToken describes a token to create.
type NewToken struct {
	Tenant      string // or AllTenants
	Scopes      Scopes
	ExpiresInMs uint64 // 0 means that the token does not expire
	Note        string
}

// token is a token in memory. It is immutable: a change replaces it with a new token.
type token struct {
	Token

	adminFile bool      // the server wrote the secret to its data folder
	secrets   []*secret // newest first; all secrets except the newest have an end
}

// secret is one secret of a token, with the identity of the callers that use it.
type secret struct {
	hash     secretHash
	untilMs  int64 // the time when the secret becomes invalid; 0 means when the token expires
	identity *Identity
}

func (t *token) newSecret(hash secretHash) *secret {
	return &secret{hash: hash, identity: &Identity{
		TokenID: t.ID, Tenant: t.Tenant, Scopes: t.Scopes, done: make(chan struct{}),
	}}
}

// endMs returns the time when a secret of the token becomes invalid, or math.MaxInt64 if it never
// does.
func (t *token) endMs(s *secret) int64 {
	end := int64(math.MaxInt64)
	for _, ms := range []int64{t.ExpiresAtMs, s.untilMs} {
		if ms != 0 {
			end = min(end, ms)
		}
	}
	return end
}

// noToken is used if a token does not exist, so that authentication takes the same time as for an
// existing token.
var noToken = &token{secrets: []*secret{{}}}

// Authenticate returns the identity of a secret. now is the current time. It takes no lock. The
// error is ErrNoToken, ErrBadToken or ErrExpired.
func (r *Registry) Authenticate(text string, now time.Time) (*Identity, error) {
	if text == "" {
		return nil, ErrNoToken
	}
	id, ok := secretID(text)
	if !ok {
		return nil, ErrBadToken
	}
	hash := hashSecret(text)
	t, ok := r.current.Load().tokens[id]
	if !ok {
		t = noToken
	}
	var found *secret
	for _, s := range t.secrets {
		if subtle.ConstantTimeCompare(hash[:], s.hash[:]) == 1 {
			found = s
		}
	}
	switch {
	case !ok || found == nil:
		return nil, ErrBadToken
	case t.endMs(found) <= now.UnixMilli():
		return nil, ErrExpired
	}
	return found.identity, nil
}

// CreateToken creates a token and returns its secret, which is not stored. A caller cannot create a
// token with more permissions than its own. The error is a *queue.FieldError, a *DeniedError,
// ErrTooMany or an error of the store.
func (r *Registry) CreateToken(ctx context.Context, by *Identity, n NewToken) (Token, string, error) {
	if err := n.check(); err != nil {
		return Token{}, "", err
	}
	if err := mayGrant(by, n.Tenant, n.Scopes); err != nil {
		return Token{}, "", err
	}
	t, text := r.newToken(n)
	err := r.change(ctx, func(s *snapshot) (change, error) {
		if err := s.roomFor(n.Tenant); err != nil {
			return change{}, err
		}
		s.tokens[t.ID] = t
		return change{puts: []Record{encodeToken(t)}}, nil
	})
	if err != nil {
		return Token{}, "", err
	}
	r.log.Info("made a token", "token", t.ID, "tenant", t.Tenant, "scopes", t.Scopes, "expires_at_ms", t.ExpiresAtMs, "by", by.TokenID)
	return t.Token, text, nil
}

// The names, in the API, of fields with a maximum.
const (
	fieldLife  = "expires_in_ms"
	fieldGrace = "grace_ms"
)

func (n *NewToken) check() error {
	if n.Tenant != AllTenants {
		if err := queue.CheckName("tenant", n.Tenant); err != nil {
			return err
		}
	}
	switch {
	case n.Scopes == 0:
		return &queue.FieldError{Field: "scopes", Problem: "is empty: name at least one"}
	case !AllScopes.Contain(n.Scopes):
		return &queue.FieldError{Field: "scopes", Problem: "has an unknown scope: use produce, work and admin"}
	case n.ExpiresInMs > LifeMsMax:
		return &queue.FieldError{Field: fieldLife, Problem: fmt.Sprintf("must be 0 to %d, not %d: use 0 for a token that does not expire", uint64(LifeMsMax), n.ExpiresInMs)}
	case len(n.Note) > NoteBytesMax:
		return &queue.FieldError{Field: "note", Problem: fmt.Sprintf("has %d bytes: use at most %d", len(n.Note), NoteBytesMax)}
	case !utf8.ValidString(n.Note):
		return &queue.FieldError{Field: "note", Problem: "is not valid UTF-8"}
	}
	return nil
}

func mayGrant(by *Identity, tenant string, scopes Scopes) error {
	switch {
	case !by.Scopes.Any(Admin):
		return &DeniedError{"the access token does not have the scope admin"}
	case !by.Operator() && tenant != by.Tenant:
		return &DeniedError{"the access token is for one tenant: it cannot make tokens for others"}
	case !by.Scopes.Contain(scopes):
		return &DeniedError{fmt.Sprintf("the access token has the scopes %s: it cannot grant others", by.Scopes)}
	}
	return nil
}

func (r *Registry) newToken(n NewToken) (*token, string) {
	now := r.now().UnixMilli()
	t := &token{Token: Token{ID: newTokenID(), Tenant: n.Tenant, Scopes: n.Scopes, Note: n.Note, CreatedAtMs: now}}
	if n.ExpiresInMs > 0 {
		t.ExpiresAtMs = now + int64(n.ExpiresInMs)
	}
	text, hash := newSecret(t.ID)
	t.secrets = []*secret{t.newSecret(hash)}
	return t, text
}

func (s *snapshot) roomFor(tenant string) error {
	if len(s.tokens) >= TokensMax {
		return fmt.Errorf("%w tokens: there are %d: revoke unused tokens", ErrTooMany, len(s.tokens))
	}
	n := 0
	for _, t := range s.tokens {
		if t.Tenant == tenant {
			n++
		}
	}
	if n >= TenantTokensMax && tenant != AllTenants {
		return fmt.Errorf("%w tokens: tenant %q has %d: revoke unused tokens", ErrTooMany, tenant, n)
	}
	return nil
}

// Tokens returns the tokens of a tenant, sorted by tenant and time of creation. If tenant is empty,
// it returns all tokens that the caller may administer. The error is a *DeniedError.
func (r *Registry) Tokens(by *Identity, tenant string) ([]Token, error) {
	switch {
	case !by.Scopes.Any(Admin):
		return nil, &DeniedError{"the access token does not have the scope admin"}
	case by.Operator():
	case tenant == "":
		tenant = by.Tenant
	case tenant != by.Tenant:
		return nil, &DeniedError{"the access token is for another tenant"}
	}
	var out []Token
	for _, t := range r.current.Load().tokens {
		if tenant == "" || t.Tenant == tenant {
			out = append(out, t.Token)
		}
	}
	slices.SortFunc(out, func(a, b Token) int {
		return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.CreatedAtMs, b.CreatedAtMs), cmp.Compare(a.ID, b.ID))
	})
	return out, nil
}

// RotateToken creates a new secret for a token. Earlier secrets remain valid for graceMs
// milliseconds, or until their previously set end if that is earlier. The caller must have all
// permissions of the token, because it receives the secret. The error is a *queue.FieldError, a
// *DeniedError, ErrNotFound, ErrPrecondition or an error of the store.
func (r *Registry) RotateToken(ctx context.Context, by *Identity, id string, graceMs uint64) (Token, string, error) {
	if graceMs > GraceMsMax {
		return Token{}, "", queue.Outside(fieldGrace, graceMs, 0, uint64(GraceMsMax))
	}
	var rotated *token
	var text string
	err := r.change(ctx, func(s *snapshot) (change, error) {
		old, err := s.administered(by, id)
		if err != nil {
			return change{}, err
		}
		if err := mayGrant(by, old.Tenant, old.Scopes); err != nil {
			return change{}, err
		}
		now := r.now().UnixMilli()
		if old.endMs(old.secrets[0]) <= now {
			return change{}, fmt.Errorf("%w: token %s has expired: make another one", ErrPrecondition, id)
		}
		rotated = &token{Token: old.Token, adminFile: old.adminFile}
		var hash secretHash
		text, hash = newSecret(id)
		rotated.secrets = append(rotated.secrets, rotated.newSecret(hash))
		until := now + int64(graceMs)
		for _, o := range old.secrets {
			kept := &secret{hash: o.hash, identity: o.identity, untilMs: until}
			if o.untilMs != 0 {
				kept.untilMs = min(until, o.untilMs)
			}
			if kept.untilMs > now {
				rotated.secrets = append(rotated.secrets, kept)
			}
		}
		if len(rotated.secrets) > secretsMax {
			return change{}, fmt.Errorf("%w: token %s has %d replaced secrets in their grace time: wait for the first to end, or use grace_ms 0 to end all",
				ErrPrecondition, id, secretsMax-1)
		}
		s.tokens[id] = rotated
		return change{puts: []Record{encodeToken(rotated)}}, nil
	})
	if err != nil {
		return Token{}, "", err
	}
	r.log.Info("rotated a token", "token", id, "tenant", rotated.Tenant, "grace_ms", graceMs, "by", by.TokenID)
	return rotated.Token, text, nil
}

// RevokeToken ends a token immediately. The error is a *DeniedError, ErrNotFound or an error of the
// store.
func (r *Registry) RevokeToken(ctx context.Context, by *Identity, id string) error {
	err := r.change(ctx, func(s *snapshot) (change, error) {
		if _, err := s.administered(by, id); err != nil {
			return change{}, err
		}
		delete(s.tokens, id)
		return change{deletes: []string{tokenPrefix + id}}, nil
	})
	if err == nil {
		r.log.Info("revoked a token", "token", id, "by", by.TokenID)
	}
	return err
}

// administered returns a token if the caller may administer it. For a token of another tenant it
// returns ErrNotFound.
func (s *snapshot) administered(by *Identity, id string) (*token, error) {
	if !by.Scopes.Any(Admin) {
		return nil, &DeniedError{"the access token does not have the scope admin"}
	}
	t, ok := s.tokens[id]
	if !ok || !by.Operator() && t.Tenant != by.Tenant {
		return nil, ErrNotFound
	}
	return t, nil
}

// Empty reports whether the registry has no tokens, as at the first start of a server.
func (r *Registry) Empty() bool { return len(r.current.Load().tokens) == 0 }

// AdminFileNote is the note of the operator's token that the server creates for its data folder.
const AdminFileNote = "the server's admin.token"

// ReplaceAdminFile creates an operator's token with all scopes, and removes the token that it
// created before. keep must store the secret for the operator. It is called before the token
// becomes valid. If it returns an error, nothing is changed.
func (r *Registry) ReplaceAdminFile(ctx context.Context, keep func(secret string) error) error {
	t, text := r.newToken(NewToken{Tenant: AllTenants, Scopes: AllScopes, Note: AdminFileNote})
	t.adminFile = true
	return r.change(ctx, func(s *snapshot) (change, error) {
		c := change{puts: []Record{encodeToken(t)}}
		for id, old := range maps.Clone(s.tokens) {
			if old.adminFile {
				delete(s.tokens, id)
				c.deletes = append(c.deletes, tokenPrefix+id)
			}
		}
		s.tokens[t.ID] = t
		return c, keep(text)
	})
}
