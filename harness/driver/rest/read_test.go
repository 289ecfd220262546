package rest

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/driver"
)

func TestARead(t *testing.T) {
	code, answer, asked, token := 200, `{"task":{"id":"abc","tenant":"t1","queue":"q7","payload":"eA==","state":"TASK_STATE_READY"}}`, "", ""
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked, token = r.Method+" "+r.URL.Path+" of "+r.URL.Query().Get("tenant"), r.Header.Get("Authorization")
		w.WriteHeader(code)
		_, _ = io.WriteString(w, answer)
	}))
	defer h.Close()
	texts := golden.Cases(t, "testdata/reads.golden")
	r, err := DialReader(driver.Target{HTTP: strings.TrimPrefix(h.URL, "http://"), Token: "secret"})
	require.NoError(t, err)
	found, err := r.Read(t.Context(), "t 1", "abc")
	require.NoError(t, err)
	assert.Equal(t, driver.Found{ID: "abc", Tenant: "t1", Queue: "q7", Payload: []byte("x")}, found)
	assert.Equal(t, "GET /v1/tasks/abc of t 1", asked)
	assert.Equal(t, "Bearer secret", token)

	answer = `{"message":"no"}`
	for status, want := range map[int]error{404: driver.ErrNotFound, 403: driver.ErrDenied, 429: driver.ErrFull, 500: nil} {
		code = status
		_, err := r.Read(t.Context(), "t1", "abc")
		texts.Error(t, strconv.Itoa(status), err)
		for _, mark := range []error{driver.ErrNotFound, driver.ErrDenied, driver.ErrFull} {
			if want != nil && errors.Is(mark, want) {
				assert.ErrorIs(t, err, mark)
			} else {
				assert.NotErrorIs(t, err, mark, "%d", status)
			}
		}
	}
	code, answer = 200, "what"
	_, err = r.Read(t.Context(), "t1", "abc")
	texts.Error(t, "no JSON", err)
	require.NoError(t, r.Close())
}
