package node

import (
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/adminpb"
)

// A change is logged once, whether it arrives over gRPC, over REST or from the page for operators.
func TestChangesOverEachInterfaceAreLoggedWithTheirCaller(t *testing.T) {
	var log lockedText
	n, _ := openAuth(t, t.TempDir(), func(c *Config) { c.Log, c.UI = slog.New(slog.NewTextHandler(&log, nil)), true })
	secret := secretOf(t, n)
	tokens, err := n.registry.Tokens(access.Everybody(), "")
	require.NoError(t, err)
	line := func(method, outcome, target string) string {
		return `msg="an administrative call" by=` + tokens[0].ID + ` by_tenant=\* from=127\.0\.0\.1:\d+ method=` + method + ` outcome=` + outcome + ` ` + target + "\n"
	}
	var want []string

	conn, err := grpc.NewClient("passthrough:///"+n.Admin(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer conn.Close() //nolint:errcheck // the test's own
	c, ctx := adminpb.NewAdminServiceClient(conn), metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+secret)
	_, err = c.ConfigureQueue(ctx, &adminpb.ConfigureQueueRequest{Tenant: "acme", Queue: "mail", Policy: &adminpb.QueuePolicy{}})
	require.NoError(t, err)
	_, err = c.GetQueue(ctx, &adminpb.GetQueueRequest{Tenant: "acme", Queue: "mail"})
	require.NoError(t, err)
	want = append(want, line("ConfigureQueue", "OK", "tenant=acme queue=mail"))

	code, text := sent(t, &http.Transport{}, http.MethodPost, "http://"+n.Admin()+"/v1/queues:pause", `{"tenant":"acme","queue":"none"}`, map[string]string{"Authorization": "Bearer " + secret})
	require.Equal(t, http.StatusNotFound, code, text)
	want = append(want, line("PauseQueue", "NotFound", "tenant=acme queue=none"))

	page := func(path string, form url.Values, cookie string) []*http.Cookie {
		in, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+n.Admin()+"/ui/"+path, strings.NewReader(form.Encode()))
		require.NoError(t, err)
		in.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		in.Header.Set("Origin", "http://"+n.Admin())
		in.Header.Set("Cookie", cookie)
		out, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(in)
		require.NoError(t, err)
		require.NoError(t, out.Body.Close())
		require.Equal(t, http.StatusSeeOther, out.StatusCode)
		return out.Cookies()
	}
	signedIn := page("login", url.Values{"token": {secret}, "changes": {"yes"}}, "")
	cookie := signedIn[0].Name + "=" + signedIn[0].Value
	_, text = sent(t, &http.Transport{}, http.MethodGet, "http://"+n.Admin()+"/ui/", "", map[string]string{"Cookie": cookie})
	found := regexp.MustCompile(`name="form" value="([^"]+)"`).FindStringSubmatch(text)
	require.NotNil(t, found)
	page("queue/pause", url.Values{"form": {found[1]}, "tenant": {"acme"}, "queue": {"mail"}}, cookie)
	want = append(want, line("PauseQueue", "OK", "tenant=acme queue=mail"))

	logged := log.String()
	for _, w := range want {
		assert.Regexp(t, w, logged)
	}
	assert.Equal(t, len(want), strings.Count(logged, "an administrative call"), logged)
	assert.NotContains(t, logged, secret)
}
