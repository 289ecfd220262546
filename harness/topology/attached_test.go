package topology

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/scenario"
)

// pages is the admin listener of an attached server.
type pages struct {
	answers map[string]string // by path
	drop    map[string]int    // requests whose connection is closed without an answer, by path

	mu    sync.Mutex
	asked map[string]int
}

func (p *pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.asked[r.URL.Path]++
	dropped := p.asked[r.URL.Path] <= p.drop[r.URL.Path]
	p.mu.Unlock()
	if dropped {
		panic(http.ErrAbortHandler)
	}
	answer, known := p.answers[r.URL.Path]
	if !known {
		http.NotFound(w, r)
		return
	}
	_, _ = w.Write([]byte(answer))
}

func attachTo(t *testing.T, p *pages) (*Cluster, error) {
	t.Helper()
	p.asked = map[string]int{}
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	admin := strings.TrimPrefix(server.URL, "http://")
	return Start(t.Context(), Config{
		LogPath: filepath.Join(t.TempDir(), "server.log"), Dir: t.TempDir(), StartTimeout: time.Minute,
		Topology: scenario.Topology{
			Kind: scenario.Remote, Nodes: 1, Shards: 1, Durability: "none", Listen: "tcp",
			Remote: &scenario.RemoteServers{Nodes: []scenario.RemoteNode{{Name: "only", Address: admin, HTTP: admin, Admin: admin}}},
		},
	})
}

func sound() map[string]string {
	return map[string]string{
		"/settings":   `{"settings": [{"name": "durability", "value": "none"}, {"name": "shards", "value": "1"}]}`,
		"/v1/cluster": `{"members": [{"node": ""}]}`,
		"/readyz":     "ready",
		"/v1/status":  `{"version": "v1.2.3", "build": {"commit": "abc"}}`,
	}
}

// A server that does not answer is busy, and is asked again.
func TestAnAttachedServerThatIsBusyIsAskedAgain(t *testing.T) {
	for path := range sound() {
		p := &pages{answers: sound(), drop: map[string]int{path: 2}}
		c, err := attachTo(t, p)
		require.NoError(t, err, path)
		assert.Equal(t, "v1.2.3", c.Hosts()[0].Version)
		require.NoError(t, c.Stop(t.Context()))
		assert.Equal(t, 3, p.asked[path], path)
	}
}

// An error status or a malformed page ends the start immediately, because a retry gets the same
// answer.
func TestAnAttachedServerThatRefusesIsNotAskedAgain(t *testing.T) {
	for _, path := range []string{"/v1/cluster", "/v1/status"} {
		for says, change := range map[string]func(map[string]string){
			"404 Not Found":     func(answers map[string]string) { delete(answers, path) },
			"invalid character": func(answers map[string]string) { answers[path] = "<html>" },
		} {
			p := &pages{answers: sound()}
			change(p.answers)
			_, err := attachTo(t, p)
			require.ErrorContains(t, err, says, path)
			assert.Equal(t, 1, p.asked[path], path)
		}
	}
}
