package access

import (
	"context"
	"strings"
	"sync"
)

// AllTenants is the Tenant of an operator's token.
const AllTenants = "*"

// Scopes is a set of permissions of a token.
type Scopes uint8

// The scopes.
const (
	Produce   Scopes = 1 << iota // enqueue, and read tasks and results
	Work                         // claim and settle, and read tasks
	Admin                        // the admin service
	AllScopes = Produce | Work | Admin
)

// Any reports whether the two sets have a common scope.
func (s Scopes) Any(of Scopes) bool { return s&of != 0 }

// Contain reports whether s includes all scopes in others.
func (s Scopes) Contain(others Scopes) bool { return others&^s == 0 }

// String returns the names of the scopes, such as "produce, work".
func (s Scopes) String() string {
	var names []string
	for _, n := range []struct {
		scope Scopes
		name  string
	}{{Produce, "produce"}, {Work, "work"}, {Admin, "admin"}} {
		if s.Any(n.scope) {
			names = append(names, n.name)
		}
	}
	return strings.Join(names, ", ")
}

// Identity identifies a caller and its permissions. Its fields never change.
type Identity struct {
	// TokenID is the id of the caller's token; it is empty if authentication is off.
	TokenID string
	// Tenant is the only tenant whose tasks the caller may use, or AllTenants.
	Tenant string
	Scopes Scopes

	once sync.Once
	done chan struct{}
}

// Everybody returns the identity that all callers have if authentication is off: an operator whose
// Done channel is nil.
func Everybody() *Identity { return &Identity{Tenant: AllTenants, Scopes: AllScopes} }

// Operator reports whether the caller may use the tasks of all tenants.
func (i *Identity) Operator() bool { return i.Tenant == AllTenants }

// Done returns a channel that is closed when the caller's secret becomes invalid: the token was
// revoked or expired, or the secret was replaced and its grace time ended. The channel is nil if
// authentication is off.
func (i *Identity) Done() <-chan struct{} { return i.done }

func (i *Identity) end() { i.once.Do(func() { close(i.done) }) }

// Record is a record of the registry in a Store.
type Record struct {
	Key   string
	Value []byte
}

// Store persists the registry's records.
type Store interface {
	// Load returns all records. Some may belong to other parts of the server.
	Load(ctx context.Context) ([]Record, error)
	// Save writes and deletes records atomically, and returns when the change is durable.
	Save(ctx context.Context, puts []Record, deletes []string) error
}
