package access

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkAuthenticate measures the cost of authentication for a unary call.
func BenchmarkAuthenticate(b *testing.B) {
	r := New(Options{})
	defer r.Close()
	require.NoError(b, r.Load(b.Context(), &memory{}))
	_, secret, err := r.CreateToken(b.Context(), Everybody(), NewToken{Tenant: "t0", Scopes: Work})
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Authenticate(secret, r.started); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAccount measures the cost of its tenant's quotas for a task.
func BenchmarkAccount(b *testing.B) {
	r := New(Options{})
	defer r.Close()
	require.NoError(b, r.Load(b.Context(), &memory{}))
	for name, q := range map[string]Quotas{"none": {}, "quotas": {TasksMax: 1 << 40, BytesMax: 1 << 40, LeasesMax: 1 << 40}} {
		_, err := r.ConfigureTenant(b.Context(), Everybody(), name, q)
		require.NoError(b, err)
		a := r.Account(name)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				_ = a.Add(100)
				a.Lease(1)
				a.EndLeases(1)
				a.Remove(1, 100)
			}
		})
	}
}
