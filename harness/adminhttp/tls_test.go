package adminhttp

import (
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/clienttls"
)

// The certificate of net/http/httptest has another name than the servers of a topology, so only the
// authority matches.
func TestAClientWithAnAuthorityWantsTLS(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	ca := clienttls.Made(string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})))
	get := func(ca clienttls.CA) error {
		_, err := Client{Address: strings.TrimPrefix(s.URL, "https://"), CA: ca}.Get(t.Context(), "/x", time.Minute, 100)
		return err
	}
	require.ErrorContains(t, get(ca), "not "+clienttls.ServerName, "the name is checked too")
	require.NoError(t, get(clienttls.CA{PEM: ca.PEM, Name: "example.com"}), "a separate name")
	require.NoError(t, get(clienttls.CA{PEM: ca.PEM}), "the address that the client connects to")
	require.ErrorContains(t, get(clienttls.CA{}), "400 Bad Request", "in plain text")
	require.ErrorContains(t, get(clienttls.Made("nothing")), "no certificate in PEM")
	assert.Equal(t, "https://a:1/b", Client{Address: "a:1", CA: ca}.URL("/b"))
	assert.Equal(t, "http://a:1/b", Client{Address: "a:1"}.URL("/b"))
}
