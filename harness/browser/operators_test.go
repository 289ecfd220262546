package browser

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
	done  string // the id of a task whose result is kept
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
	o.done = o.finish()
	admin, err := client.DialAdmin(n.Admin(), client.WithToken(o.token))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, admin.Close()) })
	_, err = admin.ConfigureTenant(t.Context(), &adminpb.ConfigureTenantRequest{Tenant: "acme", Quotas: &adminpb.Quotas{TasksMax: 1_000_000, BytesMax: 8 << 30, EnqueuesPerSMax: 5_000}})
	require.NoError(t, err)
	o.repeat(admin)
	_, err = admin.PauseQueue(t.Context(), &adminpb.PauseQueueRequest{Tenant: "acme", Queue: "reports/monthly"})
	require.NoError(t, err)
	return o
}

// repeat creates recurring tasks.
func (o *operators) repeat(admin adminpb.AdminServiceClient) {
	o.t.Helper()
	task := &adminpb.RecurringTemplate{Payload: []byte(`{"template":"digest"}`), Headers: map[string]string{"kind": "mail:digest"}, MaxAttempts: 5}
	for name, spec := range map[string]*adminpb.RecurringSpec{
		"digest":  {Cron: "30 8 * * mon-fri", TimeZone: "Europe/Berlin", JitterMs: 60_000, Overlap: adminpb.Overlap_OVERLAP_SKIP, Task: task},
		"cleanup": {IntervalMs: 900_000, Missed: adminpb.MissedRuns_MISSED_RUNS_SKIP, Task: task},
	} {
		_, err := admin.SetRecurring(o.t.Context(), &adminpb.SetRecurringRequest{Tenant: "acme", Queue: "mail", Name: name, Spec: spec})
		require.NoError(o.t, err)
	}
	_, err := admin.PauseRecurring(o.t.Context(), &adminpb.PauseRecurringRequest{Tenant: "acme", Queue: "mail", Name: "cleanup"})
	require.NoError(o.t, err)
}

// finish completes a task with a result, and returns the id of the task.
func (o *operators) finish() string {
	o.t.Helper()
	created, err := o.api.Enqueue(o.t.Context(), &queuepb.EnqueueRequest{Tenant: "acme", Tasks: []*queuepb.NewTask{{Queue: "thumbnail", ResultRetentionMs: 3_600_000}}})
	require.NoError(o.t, err)
	claimed, err := o.api.Claim(o.t.Context(), &queuepb.ClaimRequest{Tenant: "acme", Queues: []string{"thumbnail"}, MaxTasks: 1})
	require.NoError(o.t, err)
	require.Len(o.t, claimed.GetTasks(), 1)
	task := claimed.GetTasks()[0]
	out, err := o.api.Complete(o.t.Context(), &queuepb.CompleteRequest{Tenant: "acme", Completions: []*queuepb.Completion{
		{Id: task.GetId(), Token: task.GetToken(), Result: []byte(`{"width":320,"height":200}`)},
	}})
	require.NoError(o.t, err)
	require.Nil(o.t, out.GetResults()[0].GetError())
	return created.GetResults()[0].GetId()
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
	extended, err := o.api.Extend(o.t.Context(), &queuepb.ExtendRequest{Tenant: "acme", Extensions: []*queuepb.Extension{
		{Id: o.task, Token: claimed.GetTasks()[0].GetToken(), LeaseMs: 600_000, Note: "row 5,000 of 12,000"},
	}})
	require.NoError(o.t, err)
	require.Nil(o.t, extended.GetResults()[0].GetError())
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
		"failing": "failures?tenant=acme",
		"filter":  "queue?tenant=acme&queue=mail&kind=none&header=trace%3D7f",
		"done":    "task?tenant=acme&id=" + o.done,
		"repeats": "recurring?tenant=acme",
		"repeat":  "recurring/task?tenant=acme&queue=mail&name=digest",
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

func TestThePageForOperatorsRunsRecurringTasks(t *testing.T) {
	longtest.Only(t)
	o := serveOperators(t)
	b := open(t, 1440, 900, light)
	o.signIn(b, true)
	b.show(o.root + o.pages()["repeat"])
	b.do(chromedp.Focus(chromedp.CSS("form[action='/ui/recurring/run'] button")))
	b.press(kb.Enter)
	b.until("document.querySelector('.notice')?.textContent.startsWith('Enqueued task ')")
	b.do(chromedp.Focus(chromedp.CSS("form[action='/ui/recurring/pause'] button")))
	b.press(kb.Enter)
	b.until("document.querySelector('.notice')?.textContent === 'The recurring task is paused.'")
	b.do(chromedp.Focus(chromedp.CSS("#sure-delete")))
	b.press(" ")
	b.do(chromedp.Focus(chromedp.CSS("form[action='/ui/recurring/delete'] button")))
	b.press(kb.Enter)
	b.until("location.pathname === '/ui/recurring' && document.readyState === 'complete'")
	assert.InDelta(t, 1, b.number("document.querySelectorAll('tbody tr').length"), 0)
	b.stays(o.root)
}

// The time of the first paint is only logged, because it depends on the host. engine/README.md has
// the figures of one host.
func TestThePageForOperatorsWithManyQueues(t *testing.T) {
	longtest.Only(t)
	o := serveOperators(t)
	const queues, batch, loads = 10_000, 500, 9
	for from := 0; from < queues; from += batch {
		in := &queuepb.EnqueueRequest{Tenant: "many"}
		for i := from; i < from+batch; i++ {
			in.Tasks = append(in.Tasks, &queuepb.NewTask{Queue: fmt.Sprintf("queue-%05d", i), Payload: []byte("x")})
		}
		out, err := o.api.Enqueue(t.Context(), in)
		require.NoError(t, err)
		for _, r := range out.GetResults() {
			require.Nil(t, r.GetError())
		}
	}
	b := open(t, 1440, 900, light)
	o.signIn(b, false)
	var paints []int
	for range loads {
		b.show(o.root + "?tenant=many")
		assert.InDelta(t, 50, b.number("document.querySelectorAll('tbody tr').length"), 0)
		b.until("performance.getEntriesByName('first-contentful-paint').length === 1")
		paints = append(paints, int(b.number("performance.getEntriesByName('first-contentful-paint')[0].startTime")))
	}
	slices.Sort(paints)
	t.Logf("first paint with %d queues: median %d ms, longest %d ms of %d loads", queues, paints[loads/2], paints[loads-1], loads)
	b.stays(o.root)
}

func TestThePageForOperatorsFollowsFailures(t *testing.T) {
	longtest.Only(t)
	o := serveOperators(t)
	b := open(t, 390, 844, dark)
	o.signIn(b, false)
	b.show(o.root + "failures?queue=webhooks")
	assert.InDelta(t, 0, b.number("document.querySelectorAll('tbody tr').length"), 0)
	claimed, err := o.api.Claim(t.Context(), &queuepb.ClaimRequest{Tenant: "acme", Queues: []string{"webhooks"}, MaxTasks: 1})
	require.NoError(t, err)
	require.Len(t, claimed.GetTasks(), 1)
	task := claimed.GetTasks()[0]
	_, err = o.api.Fail(t.Context(), &queuepb.FailRequest{Tenant: "acme", Failures: []*queuepb.Failure{{Id: task.GetId(), Token: task.GetToken(), Error: "410 gone"}}})
	require.NoError(t, err)
	b.until("document.querySelector('tbody tr')?.lastElementChild.textContent === '410 gone'")
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
