package access

import (
	"context"
	"fmt"
	"math"

	"github.com/google/btree"

	"github.com/pronybench/prony/engine/queue"
)

// TenantsMax is the maximum number of tenants with quotas.
const TenantsMax = 10_000

// Quotas limits the usage of a tenant in all shards together. 0 means no limit.
type Quotas struct {
	TasksMax uint64 // number of stored tasks in any state
	// BytesMax limits the bytes charged for all data that is stored for the tenant: see
	// queue/charge.go.
	BytesMax        uint64
	EnqueuesPerSMax uint64
	LeasesMax       uint64 // number of leases at the same time
	PayloadBytesMax uint64 // size of one payload
}

// The names of quotas in errors and in the API.
const (
	quotaTasks    = "tasks_max"
	quotaBytes    = "bytes_max"
	quotaEnqueues = "enqueues_per_s_max"
	quotaLeases   = "leases_max"
	quotaPayload  = "payload_bytes_max"
)

func (q *Quotas) check() error {
	for _, f := range []struct {
		name  string
		value uint64
	}{
		{quotaTasks, q.TasksMax},
		{quotaBytes, q.BytesMax},
		{quotaEnqueues, q.EnqueuesPerSMax},
		{quotaLeases, q.LeasesMax},
		{quotaPayload, q.PayloadBytesMax},
	} {
		if f.value > math.MaxInt64 {
			return &queue.FieldError{Field: "quotas." + f.name, Problem: fmt.Sprintf("must be 0 to %d, not %d: use 0 for no bound", uint64(math.MaxInt64), f.value)}
		}
	}
	return nil
}

// Range returns the highest value of a numeric field in a request that changes a tenant or a token.
// field is the name of the field in the API. ok is false if the field has no range. All ranges
// begin at 0.
func Range(field string) (most uint64, ok bool) {
	switch field {
	case quotaTasks, quotaBytes, quotaEnqueues, quotaLeases, quotaPayload:
		return math.MaxInt64, true
	case fieldLife:
		return LifeMsMax, true
	case fieldGrace:
		return GraceMsMax, true
	}
	return 0, false
}

// Tenant contains the quotas and the usage of a tenant.
type Tenant struct {
	Name   string
	Quotas Quotas
	// The usage in all shards.
	Tasks, Bytes, Leases uint64
}

// ConfigureTenant sets all quotas of a tenant. If q is zero, it removes the quotas. The error is a
// *queue.FieldError, a *DeniedError, ErrTooMany or an error of the store.
func (r *Registry) ConfigureTenant(ctx context.Context, by *Identity, name string, q Quotas) (Tenant, error) {
	if err := mayAdministerTenants(by); err != nil {
		return Tenant{}, err
	}
	if err := queue.CheckName("tenant", name); err != nil {
		return Tenant{}, err
	}
	if err := q.check(); err != nil {
		return Tenant{}, err
	}
	err := r.change(ctx, func(s *snapshot) (change, error) {
		if q == (Quotas{}) {
			delete(s.quotas, name)
			return change{deletes: []string{tenantPrefix + name}}, nil
		}
		if _, had := s.quotas[name]; !had && len(s.quotas) >= TenantsMax {
			return change{}, fmt.Errorf("%w tenants: %d have quotas: remove the quotas of other tenants", ErrTooMany, len(s.quotas))
		}
		s.quotas[name] = q
		return change{puts: []Record{encodeTenant(name, q)}}, nil
	})
	if err != nil {
		return Tenant{}, err
	}
	r.log.Info("configured a tenant", "tenant", name, "quotas", q, "by", by.TokenID)
	return r.tenant(name), nil
}

func mayAdministerTenants(by *Identity) error {
	if !by.Scopes.Any(Admin) || !by.Operator() {
		return &DeniedError{"only an operator may administer tenants: use a token for all tenants with the scope admin"}
	}
	return nil
}

// Tenants returns up to limit tenants with quotas, tokens or queues whose names follow after, in the
// order of their names. more is true if there are others. It visits no other tenants. The error is a
// *DeniedError.
func (r *Registry) Tenants(by *Identity, after string, limit int) (page []Tenant, more bool, err error) {
	if err := mayAdministerTenants(by); err != nil {
		return nil, false, err
	}
	var names []string
	r.opening.Lock()
	r.names.AscendGreaterOrEqual(&tenantName{name: after}, func(n *tenantName) bool {
		switch {
		case n.name == after: // names are not empty
		case len(names) == limit:
			more = true
			return false
		default:
			names = append(names, n.name)
		}
		return true
	})
	r.opening.Unlock()
	page = make([]Tenant, len(names))
	for i, name := range names {
		page[i] = r.tenant(name)
	}
	return page, more, nil
}

// Tenant returns a tenant. ok is false if the tenant has no quotas, tokens or queues. The error is a
// *DeniedError.
func (r *Registry) Tenant(by *Identity, name string) (t Tenant, ok bool, err error) {
	if err := mayAdministerTenants(by); err != nil {
		return Tenant{}, false, err
	}
	r.opening.Lock()
	ok = r.names.Has(&tenantName{name: name})
	r.opening.Unlock()
	return r.tenant(name), ok, nil
}

// tenantName is a tenant with an account or tokens.
type tenantName struct {
	name    string
	account bool
	tokens  int
}

func newTenantNames() *btree.BTreeG[*tenantName] {
	return btree.NewG(32, func(a, b *tenantName) bool { return a.name < b.name })
}

// changeNameLocked changes the entry of a tenant in names, and removes the entry if nothing is left. The
// caller must hold r.opening.
func (r *Registry) changeNameLocked(name string, change func(*tenantName)) {
	n, ok := r.names.Get(&tenantName{name: name})
	if !ok {
		n = &tenantName{name: name}
		r.names.ReplaceOrInsert(n)
	}
	change(n)
	if !n.account && n.tokens == 0 {
		r.names.Delete(n)
	}
}

// nameTokens updates names with the difference between two snapshots. It holds the lock only for the
// tenants whose number of tokens changed.
func (r *Registry) nameTokens(before, after *snapshot) {
	more := map[string]int{}
	for id, t := range before.tokens {
		if now := after.tokens[id]; now == nil || now.Tenant != t.Tenant {
			more[t.Tenant]--
		}
	}
	for id, t := range after.tokens {
		if was := before.tokens[id]; was == nil || was.Tenant != t.Tenant {
			more[t.Tenant]++
		}
	}
	delete(more, AllTenants)
	r.opening.Lock()
	defer r.opening.Unlock()
	for name, n := range more {
		r.changeNameLocked(name, func(of *tenantName) { of.tokens += n })
	}
}

func (r *Registry) tenant(name string) Tenant {
	t := Tenant{Name: name, Quotas: r.current.Load().quotas[name]}
	if found, ok := r.accounts.Load(name); ok {
		a := found.(*account)
		t.Tasks, t.Bytes, t.Leases = count(&a.tasks), count(&a.bytes), count(&a.leases)
	}
	return t
}
