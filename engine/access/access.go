// Package access says who may call, and how much: access tokens and tenants with their quotas.
//
// A Registry holds all of it in memory and is the only one who changes it. What every call asks (Authenticate,
// TakeEnqueues, the accounts) takes no lock. What changes it is stored first and takes effect at once afterwards;
// a change that can't be stored changes nothing.
package access

import (
	"context"
	"strings"
	"sync"
)

// AllTenants is the tenant of an operator's token.
const AllTenants = "*"

// Scopes is a set of what a token allows.
type Scopes uint8

// The scopes.
const (
	Produce   Scopes = 1 << iota // enqueue, and look at tasks and results
	Work                         // claim and settle, and look at tasks
	Admin                        // the admin service
	AllScopes = Produce | Work | Admin
)

// Any tells whether the sets have a scope in common.
func (s Scopes) Any(of Scopes) bool { return s&of != 0 }

// Contain tells whether all of the others are in s.
func (s Scopes) Contain(others Scopes) bool { return others&^s == 0 }

// String names the scopes, as in "produce, work".
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

// Identity is who calls. It does not change; only Done does.
type Identity struct {
	// TokenID names the token that was shown; it is empty where no token is asked for.
	TokenID string
	// Tenant is the only tenant whose tasks the caller may touch, or AllTenants.
	Tenant string
	Scopes Scopes

	once sync.Once
	done chan struct{}
}

// Everybody is who calls where no token is asked for: an operator. Its Done is never closed.
func Everybody() *Identity { return &Identity{Tenant: AllTenants, Scopes: AllScopes} }

// Operator tells whether the identity is for all tenants.
func (i *Identity) Operator() bool { return i.Tenant == AllTenants }

// Done is closed once the secret that was shown is good no longer: its token was revoked or expired, or the secret was
// replaced and its grace time is over. It is nil if that can't happen.
func (i *Identity) Done() <-chan struct{} { return i.done }

func (i *Identity) end() { i.once.Do(func() { close(i.done) }) }

// Record is a piece of the registry as it is stored.
type Record struct {
	Key   string
	Value []byte
}

// Store keeps the registry's records across restarts.
type Store interface {
	// Load returns all records. There may be others than the registry's among them.
	Load(ctx context.Context) ([]Record, error)
	// Save writes and deletes records, all of them or none, and returns once that is durable.
	Save(ctx context.Context, puts []Record, deletes []string) error
}
