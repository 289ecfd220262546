package access

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tokenOf returns the stored contents of a token.
func tokenOf(t *token) (Token, bool, []secretHash, []int64) {
	var hashes []secretHash
	var until []int64
	for _, s := range t.secrets {
		hashes, until = append(hashes, s.hash), append(until, s.untilMs)
	}
	return t.Token, t.adminFile, hashes, until
}

func sampleTokens(f *fixture) []*token {
	one, _ := f.newToken(NewToken{Tenant: "t0", Scopes: Produce})
	two, _ := f.newToken(NewToken{Tenant: AllTenants, Scopes: AllScopes, ExpiresInMs: 1, Note: "ünïcode"})
	two.adminFile = true
	two.secrets = append(two.secrets, &secret{hash: secretHash{1, 2, 3}, untilMs: -5, identity: two.secrets[0].identity})
	return []*token{one, two}
}

func FuzzDecodeToken(f *testing.F) {
	r := New(Options{})
	for _, t := range sampleTokens(&fixture{Registry: r}) {
		f.Add(encodeToken(t).Value)
	}
	f.Add([]byte{})
	f.Add([]byte{2})
	f.Fuzz(func(t *testing.T, b []byte) {
		one, err := decodeToken(b)
		if err != nil {
			return
		}
		two, err := decodeToken(encodeToken(one).Value)
		require.NoError(t, err)
		info1, admin1, hashes1, until1 := tokenOf(one)
		info2, admin2, hashes2, until2 := tokenOf(two)
		assert.Equal(t, info1, info2)
		assert.Equal(t, admin1, admin2)
		assert.Equal(t, hashes1, hashes2)
		assert.Equal(t, until1, until2)
		assert.True(t, AllScopes.Contain(one.Scopes))
	})
}

func FuzzDecodeTenant(f *testing.F) {
	f.Add(encodeTenant("t0", Quotas{1, 2, 3, 4, 5}).Value)
	f.Add(encodeTenant("a/b:c", Quotas{BytesMax: 1 << 62}).Value)
	f.Add([]byte{2})
	f.Fuzz(func(t *testing.T, b []byte) {
		name, q, err := decodeTenant(b)
		if err != nil {
			return
		}
		again, q2, err := decodeTenant(encodeTenant(name, q).Value)
		require.NoError(t, err)
		assert.Equal(t, name, again)
		assert.Equal(t, q, q2)
	})
}

func TestRecordsComeBackAsTheyWere(t *testing.T) {
	f := newFixture(t)
	for _, one := range sampleTokens(f) {
		r := encodeToken(one)
		assert.Equal(t, "access/token/"+one.ID, r.Key)
		two, err := decodeToken(r.Value)
		require.NoError(t, err)
		info1, admin1, hashes1, until1 := tokenOf(one)
		info2, admin2, hashes2, until2 := tokenOf(two)
		assert.Equal(t, info1, info2)
		assert.Equal(t, admin1, admin2)
		assert.Equal(t, hashes1, hashes2)
		assert.Equal(t, until1, until2)
	}
}

// TestDamagedRecordsAreRefused truncates records at each length, extends them, and gives them a
// newer format.
func TestDamagedRecordsAreRefused(t *testing.T) {
	f := newFixture(t)
	records := []Record{encodeTenant("t0", Quotas{1, 2, 3, 4, 5})}
	for _, one := range sampleTokens(f) {
		records = append(records, encodeToken(one))
	}
	refused := func(r Record, want string) {
		t.Helper()
		m := &memory{records: map[string][]byte{r.Key: r.Value}}
		err := New(Options{}).Load(context.Background(), m)
		require.Error(t, err)
		require.ErrorContains(t, err, want)
	}
	for _, r := range records {
		for n := range r.Value {
			refused(Record{r.Key, r.Value[:n]}, "")
		}
		refused(Record{r.Key, append(r.Value[:len(r.Value):len(r.Value)], 0)}, "1 bytes too many")
		newer := append([]byte{format + 1}, r.Value[1:]...)
		refused(Record{r.Key, newer}, "use the server that wrote it, or a newer one")
		refused(Record{r.Key + "x", r.Value}, "the store is damaged")
	}
	refused(Record{"access/role/x", []byte{format}}, "use a newer server")
	unknownScope, _ := f.newToken(NewToken{Tenant: "t0", Scopes: Work | 8})
	refused(encodeToken(unknownScope), "use a newer server")
	noSecret, _ := f.newToken(NewToken{Tenant: "t0", Scopes: Work})
	noSecret.secrets = nil
	refused(encodeToken(noSecret), "0 secrets")
	badTenant, _ := f.newToken(NewToken{Tenant: "a b", Scopes: Work})
	refused(encodeToken(badTenant), "a b")
	refused(encodeTenant("a b", Quotas{}), "a b")
	refused(encodeTenant("t", Quotas{LeasesMax: 1 << 63}), "leases_max")
}
