package browser

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/config"
	"github.com/pronybench/prony/engine/longtest"
	"github.com/pronybench/prony/engine/node"
	"github.com/pronybench/prony/engine/queuepb"
)

// operators is a running server with tasks in each state, and its page for operators.
type operators struct {
	t     *testing.T
	root  string // the address of the page
	token string // of an operator
	api   queuepb.QueueServiceClient
	task  string // the id of a leased task
}

func serveOperators(t *testing.T) *operators {
	t.Helper()
	c := config.Default().Node
	c.DataDir, c.Listen, c.HTTP, c.Admin = t.TempDir(), []string{"127.0.0.1:0"}, "", "127.0.0.1:0"
	n, err := node.Open(c)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.NoError(t, n.Shutdown(ctx))
	})
	secret, err := os.ReadFile(n.TokenFile())
	require.NoError(t, err)
	o := &operators{t: t, root: "http://" + n.Admin() + "/ui/", token: strings.TrimSpace(string(secret))}
	to, err := client.Dial(n.Addresses()[0], client.WithToken(o.token))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, to.Close()) })
	o.api = to.API()
	o.fill()
	admin, err := client.DialAdmin(n.Admin(), client.WithToken(o.token))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, admin.Close()) })
	_, err = admin.ConfigureTenant(t.Context(), &adminpb.ConfigureTenantRequest{Tenant: "acme", Quotas: &adminpb.Quotas{TasksMax: 1_000_000, BytesMax: 8 << 30, EnqueuesPerSMax: 5_000}})
	require.NoError(t, err)
	_, err = admin.PauseQueue(t.Context(), &adminpb.PauseQueueRequest{Tenant: "acme", Queue: "reports/monthly"})
	require.NoError(t, err)
	return o
}

// fill creates queues, with tasks in each state in one of them.
func (o *operators) fill() {
	o.t.Helper()
	for i, queue := range []string{"billing/invoices", "image-thumbnails", "search-index", "webhooks", "reports/monthly"} {
		o.enqueue(queue, 3+40*i, 0)
	}
	o.enqueue("mail", 60, 0)
	claimed, err := o.api.Claim(o.t.Context(), &queuepb.ClaimRequest{Tenant: "acme", Queues: []string{"mail"}, MaxTasks: 12})
	require.NoError(o.t, err)
	require.Len(o.t, claimed.GetTasks(), 12)
	o.task = claimed.GetTasks()[0].GetId()
	in := &queuepb.FailRequest{Tenant: "acme"}
	for i, task := range claimed.GetTasks()[1:] {
		f := &queuepb.Failure{Id: task.GetId(), Token: task.GetToken(), Error: "dial tcp 192.0.2.7:25: connect: connection refused", Permanent: i%2 == 0}
		if f.GetPermanent() {
			f.Error = "550 no such mailbox: the receiving server refused user@example.com, and every address of its domain"
		}
		in.Failures = append(in.Failures, f)
	}
	out, err := o.api.Fail(o.t.Context(), in)
	require.NoError(o.t, err)
	for _, r := range out.GetResults() {
		require.Nil(o.t, r.GetError())
	}
	o.enqueue("mail", 4, 3_600_000)
}

// enqueue creates tasks in a queue of the tenant acme.
func (o *operators) enqueue(queue string, n int, delayMs uint64) {
	o.t.Helper()
	in := &queuepb.EnqueueRequest{Tenant: "acme"}
	for i := range n {
		in.Tasks = append(in.Tasks, &queuepb.NewTask{
			Queue: queue, DelayMs: delayMs, Payload: fmt.Appendf(nil, `{"to":"user%d@example.com","template":"welcome","values":{"name":"Ada","plan":"pro"}}`, i),
			Headers: map[string]string{"kind": "mail:welcome", "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
		})
	}
	_, err := o.api.Enqueue(o.t.Context(), in)
	require.NoError(o.t, err)
}

// signIn signs in with the keyboard.
func (o *operators) signIn(b *tab, changes bool) {
	o.t.Helper()
	b.load(o.root)
	b.until("location.pathname === '/ui/login' && !!document.querySelector('#token')")
	b.do(chromedp.Focus(chromedp.CSS("#token")))
	b.press(o.token)
	if changes {
		b.press(kb.Tab, " ")
	}
	b.do(chromedp.Focus(chromedp.CSS("#token")))
	b.press(kb.Enter)
	b.until("location.pathname === '/ui/' && document.readyState === 'complete'")
}

// pages are the pages to check, by their names.
func (o *operators) pages() map[string]string {
	return map[string]string{
		"queues":  "",
		"queue":   "queue?tenant=acme&queue=mail",
		"leased":  "queue?tenant=acme&queue=mail&state=leased",
		"task":    "task?tenant=acme&id=" + o.task,
		"dead":    "dead?tenant=acme&queue=mail&reason=permanent",
		"tenants": "tenants",
		"cluster": "cluster",
		"refused": "queue?tenant=acme&queue=nothing",
	}
}

// show opens a page and waits until it is loaded.
func (b *tab) show(address string) {
	b.t.Helper()
	b.load(address)
	b.until("document.readyState === 'complete' && !!document.querySelector('h1')")
}

// stays fails if the console has messages, or the page requested anything outside of root. A page
// that refuses a call on purpose is a message of the console. The browser itself loads the symbols
// of its controls from data URLs.
func (b *tab) stays(root string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, text := range b.wrong {
		require.Contains(b.t, text, "404 (Not Found)", "the console")
	}
	for _, address := range b.requests {
		require.True(b.t, strings.HasPrefix(address, root) || strings.HasPrefix(address, "data:") || address == "about:blank", "a request to %s", address)
	}
}

func TestThePageForOperatorsIsAccessible(t *testing.T) {
	longtest.Only(t)
	chromium(t)
	axe := axeCore(t)
	o := serveOperators(t)
	for _, w := range windows {
		t.Run(w.name, func(t *testing.T) {
			b := open(t, w.width, w.height, w.colours)
			check := func(name string) {
				assert.LessOrEqual(t, b.number("document.documentElement.scrollWidth"), b.number("innerWidth"), "%s is wider than the window", name)
				evaluated[bool](b, axe+"\n;true")
				b.accessible(name)
			}
			b.show(o.root)
			check("login")
			o.signIn(b, true)
			for name, path := range o.pages() {
				b.show(o.root + path)
				b.run("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
				check(name)
			}
			b.stays(o.root)
		})
	}
}

func TestThePageForOperatorsChangesDeadLetters(t *testing.T) {
	longtest.Only(t)
	o := serveOperators(t)
	b := open(t, 390, 844, light)
	dead := o.root + o.pages()["dead"]
	o.signIn(b, false)
	b.show(dead)
	assert.InDelta(t, 6, b.number("document.querySelectorAll('tbody tr').length"), 0)
	assert.InDelta(t, 0, b.number("document.querySelectorAll('main form[method=post] button').length"), 0, "a read-only session has no buttons for changes")

	b.do(chromedp.Focus(chromedp.CSS(".session button")))
	b.press(kb.Enter)
	b.until("location.pathname === '/ui/login'")
	o.signIn(b, true)
	b.show(dead)
	b.do(chromedp.Focus(chromedp.CSS("form[action='/ui/dead/redrive'] button")))
	b.press(kb.Enter)
	assert.InDelta(t, 6, b.number("document.querySelectorAll('tbody tr').length"), 0, "without the confirmation the browser does not send the form")
	b.do(chromedp.Focus(chromedp.CSS("#sure-redrive")))
	b.press(" ")
	b.do(chromedp.Focus(chromedp.CSS("form[action='/ui/dead/redrive'] button")))
	b.press(kb.Enter)
	b.until("document.querySelector('.notice')?.textContent === 'Redrove 6 tasks.'")
	assert.InDelta(t, 0, b.number("document.querySelectorAll('tbody tr').length"), 0)
	b.stays(o.root)
}

func TestThePageForOperatorsUpdatesItself(t *testing.T) {
	longtest.Only(t)
	o := serveOperators(t)
	b := open(t, 1440, 900, light)
	o.signIn(b, false)
	b.show(o.root + "?prefix=webhooks")
	ready := "document.querySelector('tbody td.n').textContent"
	assert.Equal(t, "123", b.text(ready))
	o.enqueue("webhooks", 1, 0)
	b.until(ready + " === '124'")
	b.until("!!document.querySelector('svg.chart')")
	b.do(chromedp.Focus(chromedp.CSS("[data-live-pause]")))
	b.press(kb.Enter)
	assert.Equal(t, "true", b.text("document.querySelector('[data-live-pause]').getAttribute('aria-pressed')"))
	b.stays(o.root)
}

// screenshotsVariable is the environment variable with the folder of the screenshots that
// engine/README.md shows.
const screenshotsVariable = "PRONY_SCREENSHOTS"

func TestScreenshotsOfThePageForOperators(t *testing.T) {
	folder := os.Getenv(screenshotsVariable)
	if folder == "" {
		t.Skipf("this test writes the screenshots of engine/README.md: set %s to their folder", screenshotsVariable)
	}
	o := serveOperators(t)
	for _, shot := range []struct {
		page          string
		width, height int64
		colours       scheme
	}{{"queues", 1100, 460, light}, {"dead", 1100, 760, dark}, {"queue", 390, 844, light}, {"task", 390, 844, dark}} {
		b := open(t, shot.width, shot.height, shot.colours)
		o.signIn(b, true)
		b.show(o.root + o.pages()[shot.page])
		if shot.page == "queues" { // a chart needs two samples
			b.until("!!document.querySelector('svg.chart')")
		}
		format, quality := page.CaptureScreenshotFormatWebp, int64(80)
		got, err := chromedp.Call(b.ctx, page.CaptureScreenshot, page.CaptureScreenshotParams{Format: format, Quality: &quality})
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(folder, shot.page+".webp"), got.Data, 0o644))
	}
}
