package access

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/queue"
)

var ofT0 = NewToken{Tenant: "t0", Scopes: Produce | Work, Note: "for a test"}

func TestASecretNamesItsTokenAndIsKeptNowhere(t *testing.T) {
	f := newFixture(t)
	token, secret := f.create(ofT0)
	assert.Equal(t, Token{ID: token.ID, Tenant: "t0", Scopes: Produce | Work, Note: "for a test", CreatedAtMs: 1_800_000_000_000}, token)
	assert.Regexp(t, `^prony_[a-z2-7]{16}_[A-Za-z0-9_-]{43}$`, secret)
	assert.Contains(t, secret, token.ID)
	i := f.show(secret)
	assert.Equal(t, token.ID, i.TokenID)
	assert.Equal(t, "t0", i.Tenant)
	assert.Equal(t, Produce|Work, i.Scopes)
	assert.False(t, i.Operator())
	assert.False(t, ended(i))
	assert.Same(t, i, f.show(secret))

	text := secret[len(secret)-43:]
	for key, value := range f.memory.snapshot() {
		assert.NotContains(t, key, text)
		assert.False(t, bytes.Contains(value, []byte(text)), "the store has the secret")
	}
	_, other := f.create(ofT0)
	assert.NotEqual(t, text, other[len(other)-43:])
}

func TestBadSecretsAllLookTheSame(t *testing.T) {
	f := newFixture(t)
	_, secret := f.create(ofT0)
	other, _ := f.create(ofT0)
	revoked, gone := f.create(ofT0)
	require.NoError(t, f.RevokeToken(context.Background(), f.operator, revoked.ID))
	f.refused("", ErrNoToken)
	bad := []string{
		"x", secret[1:], secret[:len(secret)-1], secret + "x", secret + " ", " " + secret, strings.ToUpper(secret), "Bearer " + secret,
		gone, secretPrefix + other.ID + secret[len(secretPrefix)+idLen:], strings.Repeat("\x00", secretLen), strings.Repeat("_", 1<<20),
	}
	for i := range secret {
		changed := []byte(secret)
		changed[i] ^= 1
		bad = append(bad, string(changed))
	}
	for _, text := range bad {
		f.refused(text, ErrBadToken)
	}
	f.show(secret)
}

func TestATokenExpiresToTheMillisecond(t *testing.T) {
	f := newFixture(t)
	n := ofT0
	n.ExpiresInMs = 1_000
	token, secret := f.create(n)
	assert.Equal(t, token.CreatedAtMs+1_000, token.ExpiresAtMs)
	f.clock.pass(999 * time.Millisecond)
	i := f.show(secret)
	f.clock.pass(time.Millisecond)
	f.refused(secret, ErrExpired)
	f.sweep()
	assert.True(t, ended(i))
	_, _, err := f.RotateToken(context.Background(), f.operator, token.ID, 0)
	require.ErrorIs(t, err, ErrPrecondition)
	require.ErrorContains(t, err, "make another one")
}

// TestIdentitiesEndByThemselves uses real time. A stream ends although no call checks its token.
func TestIdentitiesEndByThemselves(t *testing.T) {
	r := New(Options{})
	defer r.Close()
	require.NoError(t, r.Load(context.Background(), &memory{}))
	create := func(ms uint64) *Identity {
		_, secret, err := r.CreateToken(context.Background(), Everybody(), NewToken{Tenant: "t", Scopes: Work, ExpiresInMs: ms})
		require.NoError(t, err)
		i, err := r.Authenticate(secret, time.UnixMilli(0))
		require.NoError(t, err)
		return i
	}
	<-create(20).Done() // the first token that expires sets the timer
	never, later, soon := create(0), create(60_000), create(20)
	<-soon.Done() // an earlier expiry sets it again
	<-create(20).Done()
	assert.False(t, ended(never))
	assert.False(t, ended(later))
}

func TestAClosedRegistryWatchesNothing(t *testing.T) {
	f := newFixture(t)
	n := ofT0
	n.ExpiresInMs = 1
	_, secret := f.create(n)
	i := f.show(secret)
	f.Close()
	f.clock.pass(time.Second)
	f.sweep()
	assert.False(t, ended(i))
}

func TestExpiredTokensAreForgottenAfterADay(t *testing.T) {
	f := newFixture(t)
	n := ofT0
	n.ExpiresInMs = 1_000
	f.create(n)
	f.clock.pass(24 * time.Hour)
	f.create(ofT0)
	assert.Len(t, f.memory.snapshot(), 2, "expired tokens stay listed for a day")
	f.clock.pass(2 * time.Second)
	f.create(ofT0)
	assert.Len(t, f.memory.snapshot(), 2)
	tokens, err := f.Tokens(f.operator, "")
	require.NoError(t, err)
	assert.Len(t, tokens, 2)
}

func TestRotationKeepsTheOldSecretForItsGrace(t *testing.T) {
	f := newFixture(t)
	token, first := f.create(ofT0)
	one := f.show(first)
	rotated, second, err := f.RotateToken(context.Background(), f.operator, token.ID, 1_000)
	require.NoError(t, err)
	assert.Equal(t, token, rotated)
	assert.NotEqual(t, first, second)
	two := f.show(second)
	assert.Same(t, one, f.show(first), "open streams continue")
	assert.Equal(t, one.TokenID, two.TokenID)
	f.clock.pass(999 * time.Millisecond)
	f.show(first)
	f.clock.pass(time.Millisecond)
	f.refused(first, ErrExpired)
	f.sweep()
	assert.True(t, ended(one))
	assert.False(t, ended(two))
	f.show(second)

	_, third, err := f.RotateToken(context.Background(), f.operator, token.ID, 0)
	require.NoError(t, err)
	assert.True(t, ended(two), "without a grace time the secret ends immediately")
	f.refused(second, ErrBadToken)
	f.show(third)
}

func TestRotationsInARow(t *testing.T) {
	f := newFixture(t)
	token, secret := f.create(ofT0)
	secrets := []string{secret}
	rotate := func(graceMs uint64) error {
		_, secret, err := f.RotateToken(context.Background(), f.operator, token.ID, graceMs)
		secrets = append(secrets, secret)
		return err
	}
	for range secretsMax - 1 {
		require.NoError(t, rotate(10_000))
	}
	for _, s := range secrets {
		f.show(s)
	}
	err := rotate(10_000)
	require.ErrorIs(t, err, ErrPrecondition)
	require.ErrorContains(t, err, "grace_ms 0")
	secrets = secrets[:secretsMax]
	f.show(secrets[0])
	f.clock.pass(10 * time.Second)
	require.NoError(t, rotate(1_000), "the old secrets have ended")
	// A shorter grace time applies to older secrets too; a longer one does not extend them.
	require.NoError(t, rotate(500))
	f.clock.pass(400 * time.Millisecond)
	require.NoError(t, rotate(10_000))
	f.clock.pass(100 * time.Millisecond)
	f.refused(secrets[secretsMax-1], ErrExpired)
	f.refused(secrets[secretsMax], ErrExpired)
	f.show(secrets[secretsMax+1])
	require.NoError(t, rotate(0))
	for _, s := range secrets[:len(secrets)-1] {
		f.refused(s, ErrBadToken)
	}
	f.show(secrets[len(secrets)-1])
}

func TestRevocationIsAtOnce(t *testing.T) {
	f := newFixture(t)
	token, first := f.create(ofT0)
	_, second, err := f.RotateToken(context.Background(), f.operator, token.ID, 1_000)
	require.NoError(t, err)
	one, two := f.show(first), f.show(second)
	require.NoError(t, f.RevokeToken(context.Background(), f.operator, token.ID))
	assert.True(t, ended(one))
	assert.True(t, ended(two))
	f.refused(first, ErrBadToken)
	f.refused(second, ErrBadToken)
	assert.Empty(t, f.memory.snapshot())
	require.ErrorIs(t, f.RevokeToken(context.Background(), f.operator, token.ID), ErrNotFound)
	_, _, err = f.RotateToken(context.Background(), f.operator, token.ID, 0)
	require.ErrorIs(t, err, ErrNotFound)
}

func TestWhatCantBeStoredChangesNothing(t *testing.T) {
	f := newFixture(t)
	token, secret := f.create(ofT0)
	require.NoError(t, f.ReplaceAdminFile(context.Background(), func(string) error { return nil }))
	_, err := f.ConfigureTenant(context.Background(), f.operator, "t0", Quotas{TasksMax: 1})
	require.NoError(t, err)
	i := f.show(secret)
	before := f.memory.snapshot()
	tokens, err := f.Tokens(f.operator, "")
	require.NoError(t, err)

	f.memory.fail(errDisk)
	ctx := context.Background()
	_, made, err := f.CreateToken(ctx, f.operator, ofT0)
	require.ErrorIs(t, err, errDisk)
	assert.Empty(t, made)
	_, made, err = f.RotateToken(ctx, f.operator, token.ID, 0)
	require.ErrorIs(t, err, errDisk)
	assert.Empty(t, made)
	require.ErrorIs(t, f.RevokeToken(ctx, f.operator, token.ID), errDisk)
	for _, q := range []Quotas{{TasksMax: 2}, {}} {
		_, err = f.ConfigureTenant(ctx, f.operator, "t0", q)
		require.ErrorIs(t, err, errDisk)
	}
	var kept string
	require.ErrorIs(t, f.ReplaceAdminFile(ctx, func(s string) error { kept = s; return nil }), errDisk)
	f.refused(kept, ErrBadToken)

	assert.False(t, ended(i))
	assert.Same(t, i, f.show(secret))
	after, err := f.Tokens(f.operator, "")
	require.NoError(t, err)
	assert.Equal(t, tokens, after)
	a := f.Account("t0")
	require.NoError(t, a.Add(1))
	require.Error(t, a.Add(1), "the quota of one task remains")
	f.memory.fail(nil)
	assert.Equal(t, before, f.memory.snapshot())
}

func TestAllIsThereAfterARestart(t *testing.T) {
	f := newFixture(t)
	n := ofT0
	n.ExpiresInMs = 60_000
	token, first := f.create(n)
	_, second, err := f.RotateToken(context.Background(), f.operator, token.ID, 1_000)
	require.NoError(t, err)
	operator, third := f.create(NewToken{Tenant: AllTenants, Scopes: AllScopes})
	_, err = f.ConfigureTenant(context.Background(), f.operator, "t1", Quotas{1, 2, 3, 4, 5})
	require.NoError(t, err)
	f.memory.records["another/record"] = []byte("not ours")

	g := load(t, f.memory, f.clock)
	tokens, err := g.Tokens(g.operator, "")
	require.NoError(t, err)
	assert.Equal(t, []Token{operator, token}, tokens)
	assert.True(t, g.show(third).Operator())
	assert.Equal(t, AllScopes, g.show(third).Scopes)
	one, two := g.show(first), g.show(second)
	tenants, _, err := g.Tenants(g.operator, "", TenantsMax)
	require.NoError(t, err)
	assert.Equal(t, []Tenant{{Name: "t0"}, {Name: "t1", Quotas: Quotas{1, 2, 3, 4, 5}}}, tenants)
	assert.Equal(t, 5, g.PayloadBytesMax("t1"))
	g.clock.pass(time.Second)
	g.refused(first, ErrExpired)
	g.sweep()
	assert.True(t, ended(one))
	g.clock.pass(59 * time.Second)
	g.refused(second, ErrExpired)
	g.sweep()
	assert.True(t, ended(two))
}

func TestWhoMayDoWhat(t *testing.T) {
	f := newFixture(t)
	identity := func(tenant string, s Scopes) *Identity {
		_, secret := f.create(NewToken{Tenant: tenant, Scopes: s})
		return f.show(secret)
	}
	admin0, produceAdmin0, worker0 := identity("t0", Admin), identity("t0", Admin|Produce), identity("t0", Produce|Work)
	operator, produceOperator := identity(AllTenants, Admin), identity(AllTenants, Produce|Work)
	ctx := context.Background()
	denied := func(err error) {
		t.Helper()
		var d *DeniedError
		require.ErrorAs(t, err, &d)
		assert.NotEmpty(t, err.Error())
	}
	create := func(by *Identity, tenant string, s Scopes) error {
		_, _, err := f.CreateToken(ctx, by, NewToken{Tenant: tenant, Scopes: s})
		return err
	}
	for _, by := range []*Identity{worker0, produceOperator} {
		denied(create(by, "t0", Produce))
		_, err := f.Tokens(by, "")
		denied(err)
		denied(f.RevokeToken(ctx, by, worker0.TokenID))
		_, _, err = f.RotateToken(ctx, by, worker0.TokenID, 0)
		denied(err)
	}
	denied(create(admin0, "t1", Admin))
	denied(create(admin0, AllTenants, Admin))
	denied(create(admin0, "t0", Produce))
	denied(create(admin0, "t0", Admin|Work))
	denied(create(operator, "t0", Produce))
	require.NoError(t, create(admin0, "t0", Admin))
	require.NoError(t, create(produceAdmin0, "t0", Produce))
	require.NoError(t, create(operator, "t7", Admin))
	require.NoError(t, create(operator, AllTenants, Admin))

	// A tenant's administrator sees and revokes only the tokens of its tenant, and cannot rotate a
	// token with more permissions.
	own, err := f.Tokens(admin0, "")
	require.NoError(t, err)
	assert.Len(t, own, 5)
	for _, token := range own {
		assert.Equal(t, "t0", token.Tenant)
	}
	_, err = f.Tokens(admin0, "t1")
	denied(err)
	_, err = f.Tokens(admin0, AllTenants)
	denied(err)
	of7, err := f.Tokens(operator, "t7")
	require.NoError(t, err)
	require.Len(t, of7, 1)
	for _, id := range []string{of7[0].ID, operator.TokenID, "unknown", ""} {
		require.ErrorIs(t, f.RevokeToken(ctx, admin0, id), ErrNotFound)
		_, _, err = f.RotateToken(ctx, admin0, id, 0)
		require.ErrorIs(t, err, ErrNotFound)
	}
	_, _, err = f.RotateToken(ctx, admin0, worker0.TokenID, 0)
	denied(err)
	_, _, err = f.RotateToken(ctx, operator, worker0.TokenID, 0)
	denied(err)
	assert.False(t, ended(worker0))
	_, _, err = f.RotateToken(ctx, admin0, admin0.TokenID, 0)
	require.NoError(t, err)
	require.NoError(t, f.RevokeToken(ctx, admin0, worker0.TokenID))
	assert.True(t, ended(worker0))
	require.NoError(t, f.RevokeToken(ctx, operator, of7[0].ID))

	for _, by := range []*Identity{admin0, produceAdmin0, produceOperator} {
		_, _, err = f.Tenants(by, "", 1)
		denied(err)
		_, err = f.ConfigureTenant(ctx, by, "t0", Quotas{TasksMax: 1})
		denied(err)
	}
	_, _, err = f.Tenants(operator, "", 1)
	require.NoError(t, err)
}

func TestBadTokensAreRefusedByField(t *testing.T) {
	f := newFixture(t)
	for field, n := range map[string][]NewToken{
		"tenant":        {{Scopes: Work}, {Tenant: "no spaces", Scopes: Work}, {Tenant: "**", Scopes: Work}, {Tenant: strings.Repeat("x", 129), Scopes: Work}},
		"scopes":        {{Tenant: "t"}, {Tenant: "t", Scopes: 8}, {Tenant: "t", Scopes: Work | 16}},
		"expires_in_ms": {{Tenant: "t", Scopes: Work, ExpiresInMs: LifeMsMax + 1}, {Tenant: "t", Scopes: Work, ExpiresInMs: 1<<64 - 1}},
		"note":          {{Tenant: "t", Scopes: Work, Note: strings.Repeat("x", 257)}, {Tenant: "t", Scopes: Work, Note: "\xff"}},
	} {
		for _, n := range n {
			_, secret, err := f.CreateToken(context.Background(), f.operator, n)
			requireField(t, field, err)
			assert.Empty(t, secret)
		}
	}
	token, secret := f.create(NewToken{Tenant: "t", Scopes: Work, ExpiresInMs: LifeMsMax, Note: strings.Repeat("x", 256)})
	_, _, err := f.RotateToken(context.Background(), f.operator, token.ID, GraceMsMax+1)
	requireField(t, "grace_ms", err)
	f.show(secret)
	assert.Len(t, f.memory.snapshot(), 1)
}

func requireField(t *testing.T, field string, err error) {
	t.Helper()
	var e *queue.FieldError
	require.ErrorAs(t, err, &e)
	assert.Equal(t, field, e.Field)
	assert.NotEmpty(t, e.Problem)
}

func TestThereAreNotTooManyTokens(t *testing.T) {
	f := newFixture(t)
	for range TenantTokensMax {
		f.create(ofT0)
	}
	_, _, err := f.CreateToken(context.Background(), f.operator, ofT0)
	require.ErrorIs(t, err, ErrTooMany)
	require.ErrorContains(t, err, "revoke")
	f.create(NewToken{Tenant: "t1", Scopes: Work})

	m := &memory{records: map[string][]byte{}}
	var last *token
	for i := range TokensMax {
		last, _ = f.newToken(NewToken{Tenant: fmt.Sprintf("t%d", i), Scopes: Work})
		r := encodeToken(last)
		m.records[r.Key] = r.Value
	}
	g := load(t, m, f.clock)
	_, _, err = g.CreateToken(context.Background(), g.operator, NewToken{Tenant: "new", Scopes: Work})
	require.ErrorIs(t, err, ErrTooMany)
	require.NoError(t, g.RevokeToken(context.Background(), g.operator, last.ID))
	g.create(NewToken{Tenant: "new", Scopes: Work})
}

func TestTheAdminFilesTokenIsReplaced(t *testing.T) {
	f := newFixture(t)
	assert.True(t, f.Empty())
	var secrets []string
	replace := func() error {
		return f.ReplaceAdminFile(context.Background(), func(s string) error {
			f.refused(s, ErrBadToken) // invalid until the file with the secret is written
			secrets = append(secrets, s)
			return nil
		})
	}
	require.NoError(t, replace())
	assert.False(t, f.Empty())
	first := f.show(secrets[0])
	assert.True(t, first.Operator())
	assert.Equal(t, AllScopes, first.Scopes)
	_, other := f.create(NewToken{Tenant: AllTenants, Scopes: AllScopes})
	require.NoError(t, replace())
	assert.True(t, ended(first))
	f.refused(secrets[0], ErrBadToken)
	f.show(secrets[1])
	f.show(other)
	assert.Len(t, f.memory.snapshot(), 2)

	err := f.ReplaceAdminFile(context.Background(), func(string) error { return errDisk })
	require.ErrorIs(t, err, errDisk)
	f.show(secrets[1])
	assert.Len(t, f.memory.snapshot(), 2)
}

func TestARegistryWithoutAStoreChangesNothing(t *testing.T) {
	r := New(Options{})
	defer r.Close()
	_, _, err := r.CreateToken(context.Background(), Everybody(), ofT0)
	require.ErrorContains(t, err, "not loaded")
	require.ErrorIs(t, r.Load(context.Background(), &memory{err: errDisk}), errDisk)
}

func TestAChangeWaitsForOthersAsLongAsItsCallerDoes(t *testing.T) {
	f := newFixture(t)
	f.writing <- struct{}{}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, _, err := f.CreateToken(ctx, f.operator, ofT0)
	require.ErrorIs(t, err, context.Canceled)
	<-f.writing
	assert.Empty(t, f.memory.snapshot())
}

// TestChangesAndCallsAtOnce serves the race detector: calls authenticate while tokens are created
// and revoked.
func TestChangesAndCallsAtOnce(t *testing.T) {
	f := newFixture(t)
	_, steady := f.create(ofT0)
	stop := make(chan struct{})
	var callers, changers sync.WaitGroup
	for range 4 {
		callers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := f.Authenticate(steady, f.clock.time()); err != nil {
					t.Errorf("a valid secret is refused: %v", err)
					return
				}
				_ = f.TakeEnqueues("t0", 1)
			}
		})
	}
	for range 4 {
		changers.Go(func() {
			for range 50 {
				token, secret := f.create(ofT0)
				i := f.show(secret)
				_, again, err := f.RotateToken(context.Background(), f.operator, token.ID, 0)
				assert.NoError(t, err)
				<-i.Done()
				i = f.show(again)
				_, err = f.ConfigureTenant(context.Background(), f.operator, "t0", Quotas{EnqueuesPerSMax: uint64(len(again))})
				assert.NoError(t, err)
				assert.NoError(t, f.RevokeToken(context.Background(), f.operator, token.ID))
				<-i.Done()
			}
		})
	}
	changers.Wait()
	close(stop)
	callers.Wait()
	tokens, err := f.Tokens(f.operator, "")
	require.NoError(t, err)
	assert.Len(t, tokens, 1)
	assert.Len(t, f.memory.snapshot(), 2)
}

func TestScopesHaveNames(t *testing.T) {
	assert.Equal(t, "produce, work, admin", AllScopes.String())
	assert.Equal(t, "work", Work.String())
	assert.True(t, slices.Equal([]bool{true, false, true}, []bool{AllScopes.Contain(Work), Work.Contain(Produce | Work), Work.Contain(Work)}))
}
