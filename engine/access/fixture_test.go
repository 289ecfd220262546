package access

import (
	"context"
	"errors"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memory is a store in memory with injectable errors.
type memory struct {
	mu      sync.Mutex
	records map[string][]byte
	err     error
}

func (m *memory) Load(context.Context) ([]Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []Record
	for key, value := range m.records {
		out = append(out, Record{Key: key, Value: value})
	}
	return out, m.err
}

func (m *memory) Save(_ context.Context, puts []Record, deletes []string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return m.err
	}
	if m.records == nil {
		m.records = map[string][]byte{}
	}
	for _, key := range deletes {
		delete(m.records, key)
	}
	for _, r := range puts {
		m.records[r.Key] = r.Value
	}
	return nil
}

func (m *memory) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.err = err
}

func (m *memory) snapshot() map[string][]byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.records)
}

var errDisk = errors.New("the disk is gone")

// clock is a time that the test controls.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.UnixMilli(1_800_000_000_000)} }

func (c *clock) time() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// fixture is a registry with its store and its time.
type fixture struct {
	*testing.T
	*Registry

	memory   *memory
	clock    *clock
	operator *Identity
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	return load(t, &memory{}, newClock())
}

func load(t *testing.T, m *memory, c *clock) *fixture {
	t.Helper()
	r := New(Options{Now: c.time})
	t.Cleanup(r.Close)
	require.NoError(t, r.Load(context.Background(), m))
	return &fixture{T: t, Registry: r, memory: m, clock: c, operator: Everybody()}
}

func (f *fixture) create(n NewToken) (Token, string) {
	f.Helper()
	token, secret, err := f.CreateToken(context.Background(), f.operator, n)
	require.NoError(f, err)
	return token, secret
}

// show authenticates a secret that must be valid.
func (f *fixture) show(secret string) *Identity {
	f.Helper()
	i, err := f.Authenticate(secret, f.clock.time())
	require.NoError(f, err)
	return i
}

func (f *fixture) refused(secret string, want error) {
	f.Helper()
	i, err := f.Authenticate(secret, f.clock.time())
	require.ErrorIs(f, err, want)
	require.Nil(f, i)
}

func ended(i *Identity) bool {
	select {
	case <-i.Done():
		return true
	default:
		return false
	}
}
