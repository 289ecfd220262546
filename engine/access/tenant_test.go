package access

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A page of tenants costs the same, however many tenants there are.
func TestAPageOfTenantsVisitsNoOthers(t *testing.T) {
	visits := func(tenants int) float64 {
		f := newFixture(t)
		for i := range tenants {
			require.NoError(t, f.Account(fmt.Sprintf("t%05d", i)).Add(1))
		}
		return testing.AllocsPerRun(10, func() {
			page, more, err := f.Tenants(f.operator, "t00019", 50)
			require.NoError(t, err)
			require.Len(t, page, 50)
			require.True(t, more)
			require.Equal(t, "t00020", page[0].Name)
		})
	}
	assert.InDelta(t, visits(100), visits(10_000), 5)
}

// A tenant is listed while it has quotas, tokens or an account that a shard uses.
func TestTenantsAreListedWhileTheyHaveSomething(t *testing.T) {
	f := newFixture(t)
	names := func() (names []string) {
		for after, more := "", true; more; {
			page, others, err := f.Tenants(f.operator, after, 1)
			require.NoError(t, err)
			for _, tenant := range page {
				names, after = append(names, tenant.Name), tenant.Name
			}
			more = others
		}
		return names
	}
	token, _ := f.create(NewToken{Tenant: "b", Scopes: Work})
	second, _ := f.create(NewToken{Tenant: "b", Scopes: Work})
	f.configure("b", Quotas{TasksMax: 1})
	f.configure("c", Quotas{TasksMax: 1})
	f.Account("a")
	assert.Equal(t, []string{"a", "b", "c"}, names())
	f.configure("c", Quotas{})
	f.configure("a", Quotas{TasksMax: 1})
	f.configure("a", Quotas{})
	require.NoError(t, f.RevokeToken(t.Context(), f.operator, token.ID))
	assert.Equal(t, []string{"a", "b"}, names())
	f.configure("b", Quotas{})
	assert.Equal(t, []string{"a", "b"}, names(), "it has another token")
	require.NoError(t, f.RevokeToken(t.Context(), f.operator, second.ID))
	assert.Equal(t, []string{"a"}, names())
	_, ok, err := f.Tenant(f.operator, "b")
	require.NoError(t, err)
	assert.False(t, ok)
}
