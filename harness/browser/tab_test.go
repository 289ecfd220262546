package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// browsers are possible names of Chromium.
var browsers = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "headless-shell"}

// within is the time limit of the browser in one test.
const within = 5 * time.Minute

// tab is a page of a browser that runs for one test.
type tab struct {
	t    *testing.T
	ctx  context.Context
	file string // the address of the HTML file
	wide bool   // whether the window is wide

	mu       sync.Mutex
	wrong    []string // messages of the console
	requests []string // requested addresses, except the file's own
}

// scheme is the preferred colour scheme of the system.
type scheme string

const (
	light scheme = "light"
	dark  scheme = "dark"
)

// open starts a browser with a window of that size, and returns its page. The browser ends with the
// test.
func open(t *testing.T, width, height int64, colours scheme) *tab {
	t.Helper()
	options := append([]chromedp.ExecAllocatorOption{}, chromedp.DefaultExecAllocatorOptions[:]...)
	options = append(options, chromedp.ExecPath(chromium(t)), chromedp.UserDataDir(t.TempDir()))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium has no sandbox for root
	}
	// Cancelled in the clean-up.
	limited, cancelLimit := context.WithTimeout(context.WithoutCancel(t.Context()), within)
	allocator, cancelAllocator := chromedp.NewExecAllocator(limited, options...)
	ctx, cancel := chromedp.NewContext(allocator)
	t.Cleanup(func() {
		cancel()
		cancelAllocator()
		cancelLimit()
	})
	b := &tab{t: t, ctx: ctx}
	require.NoError(t, chromedp.Listen(ctx, b.note))
	call(b, log.Enable, cdp.Empty{})
	call(b, network.Enable, network.EnableParams{})
	call(b, runtime.Enable, cdp.Empty{})
	call(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: width, Height: height, DeviceScaleFactor: 1, Mobile: width < 600,
	})
	// As in a focused window.
	call(b, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: string(colours)}},
	})
	return b
}

// call sends a command of the protocol.
func call[P, R any](b *tab, command cdp.Command[P, R], params P) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, command, params)
	require.NoError(b.t, err)
}

// chromium finds a browser, or skips the test.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range browsers {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skipf("Chromium is not installed (%s): apt-get install chromium", strings.Join(browsers, ", "))
	return ""
}

// axeCore returns the text of axe-core, or skips the test.
func axeCore(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "bin", "axe.min.js"))
	if os.IsNotExist(err) {
		t.Skip("axe-core is missing: make axe")
	}
	require.NoError(t, err)
	return string(text)
}

// note records the messages of the console and the network requests of the page.
func (b *tab) note(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning || e.Type == runtime.ConsoleAPICalledTypeAssert {
			b.wrong = append(b.wrong, fmt.Sprintf("console.%s: %v", e.Type, e.Args))
		}
	case *runtime.EventExceptionThrown:
		b.wrong = append(b.wrong, (&chromedp.ExceptionError{ExceptionDetails: e.ExceptionDetails}).Error())
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			b.wrong = append(b.wrong, fmt.Sprintf("%s: %s", e.Entry.Level, e.Entry.Text))
		}
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, e.Request.URL)
	}
}

// do runs actions.
func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	require.NoError(b.t, chromedp.Do(b.ctx, actions...))
}

// load opens an address in a new document.
func (b *tab) load(address string) {
	b.t.Helper()
	b.do(chromedp.Navigate("about:blank"), chromedp.Navigate(address))
}

// goTo shows another page of the file by its address.
func (b *tab) goTo(hash string) {
	b.t.Helper()
	b.run(fmt.Sprintf("location.hash = %q", hash))
	b.until(fmt.Sprintf("location.hash === %q && !!document.querySelector('article.shown')", hash))
}

// run evaluates an expression and ignores its value.
func (b *tab) run(expression string) {
	b.t.Helper()
	evaluated[bool](b, "(("+expression+"), true)")
}

// evaluated returns the value of an expression.
func evaluated[T any](b *tab, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	require.NoError(b.t, err, expression)
	return v
}

// text and number return the value of an expression.
func (b *tab) text(expression string) string {
	b.t.Helper()
	return evaluated[string](b, expression)
}

func (b *tab) number(expression string) float64 {
	b.t.Helper()
	return evaluated[float64](b, expression)
}

// until waits until an expression is true. It polls over the protocol, because the page's policy
// forbids eval.
func (b *tab) until(expression string) {
	b.t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		is, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](expression))
		if err == nil && is {
			return
		}
	}
	require.Fail(b.t, "the expression did not become true", expression)
}

// press presses keys, one after the other.
func (b *tab) press(keys ...string) {
	b.t.Helper()
	for _, key := range keys {
		b.do(chromedp.KeyEvent(key))
	}
}

// quiet fails if the console has messages, or the page requested more than its file.
func (b *tab) quiet(file string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	require.Empty(b.t, b.wrong, "the console")
	for _, address := range b.requests {
		own, _, _ := strings.Cut(address, "#")
		require.Contains(b.t, []string{file, "about:blank", "data:,"}, own, "a request")
	}
}
