package ui

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queuepb"
)

// Root is the path of the page. All other paths begin with it.
const Root = "/ui/"

// Options configures the handler.
type Options struct {
	// Admin is the admin service.
	Admin adminpb.AdminServiceServer
	// Tasks is the queue service. The page calls only GetTask, AwaitResult and ListDependencies.
	Tasks queuepb.QueueServiceServer
	// Guard authenticates a request by its header Authorization. It passes accepted requests on with
	// the caller's identity in the context, or calls refuse with a gRPC status.
	Guard func(next http.Handler, refuse func(http.ResponseWriter, error)) http.Handler
	// Open is true if the server requires no tokens: the user signs in without one.
	Open bool
	// Secure is true if the listener has TLS.
	Secure bool
	// Name distinguishes the cookies of servers on the same host, because browsers send a cookie to
	// all ports of a host. It consists of letters and digits.
	Name string
	// Holds is called with each change of the number of bytes that an answer is writing to its
	// client; nil means no call.
	Holds func(ctx context.Context, bytes int)
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// These constants limit the handler.
const (
	// callsMax limits the requests that are handled at the same time.
	callsMax = 32
	// formBytesMax limits the body of a POST.
	formBytesMax = 256 << 10
	// formReadMax limits the time to read it.
	formReadMax = 10 * time.Second
	// rows is the number of rows of a page of a list.
	rows = 50
)

type handler struct {
	Options

	mux           *http.ServeMux
	sessions      *sessions
	failedSignIns *failedSignIns
	samples       *samples
	calls         chan struct{} // contains an element for each request that is handled
}

// New returns the handler of the page.
func New(o Options) http.Handler {
	if o.Now == nil {
		o.Now = time.Now
	}
	h := &handler{
		Options: o, mux: http.NewServeMux(), calls: make(chan struct{}, callsMax),
		sessions: newSessions(o.Now), failedSignIns: newFailedSignIns(o.Now), samples: newSamples(o.Now),
	}
	h.mux.HandleFunc("GET "+assetsRoot, serveAsset)
	h.mux.HandleFunc("GET "+loginPath, h.showLogin)
	h.mux.HandleFunc("POST "+loginPath, h.login)
	h.mux.HandleFunc("POST "+logoutPath, h.signedIn(h.logout))
	h.page("{$}", h.queues)
	h.page("queue", h.queue)
	h.page("task", h.task)
	h.page("dead", h.dead)
	h.page("failures", h.recent)
	h.page("recurring", h.recurringList)
	h.page("recurring/task", h.recurring)
	h.page("tenants", h.tenants)
	h.page("cluster", h.cluster)
	h.change("queue/pause", false, h.pause)
	h.change("queue/resume", false, h.resume)
	h.change("queue/purge", true, h.purge)
	h.change("tasks/cancel", true, h.cancel)
	h.change("dead/redrive", true, h.redriveDead)
	h.change("dead/purge", true, h.purgeDead)
	h.change("dead/selected/redrive", false, h.redriveSelected)
	h.change("dead/selected/purge", true, h.purgeSelected)
	h.change("recurring/pause", false, h.pauseRecurring)
	h.change("recurring/resume", false, h.resumeRecurring)
	h.change("recurring/run", false, h.runRecurring)
	h.change("recurring/delete", true, h.deleteRecurring)
	return h
}

// page serves a page that changes nothing.
func (h *handler) page(path string, show func(*request) (view, error)) {
	h.mux.HandleFunc("GET "+Root+path, h.signedIn(func(r *request) {
		v, err := show(r)
		if err != nil {
			h.refuse(r, err)
			return
		}
		h.render(r.w, http.StatusOK, r, v)
	}))
}

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, in *http.Request) {
	secure(w.Header())
	select {
	case h.calls <- struct{}{}:
		defer func() { <-h.calls }()
	default:
		w.Header().Set("Retry-After", "1")
		http.Error(w, "too many requests at the same time: try again", http.StatusServiceUnavailable)
		return
	}
	if in.Method == http.MethodPost {
		if err := sameOrigin(in); err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		if err := readForm(w, in); err != nil {
			http.Error(w, "the form cannot be read: "+err.Error(), http.StatusBadRequest)
			return
		}
	}
	h.mux.ServeHTTP(w, in)
}

// readForm reads the form of a POST into in.PostForm.
func readForm(w http.ResponseWriter, in *http.Request) error {
	// The deadline does not apply to the rest of the connection. A test's recorder has none.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(formReadMax))
	in.Body = http.MaxBytesReader(w, in.Body, formBytesMax)
	return in.ParseForm()
}

// secure sets the headers that protect every answer. The referrer policy is not no-referrer: a
// browser would then send the Origin null with forms, and the server could not recognize its own
// pages.
func secure(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; "+
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

func (h *handler) holds(ctx context.Context, bytes int) {
	if h.Holds != nil {
		h.Holds(ctx, bytes)
	}
}

// cookieName returns the name of the session's cookie. A browser accepts a name with the prefix
// __Host- only from the host itself and over TLS.
func (h *handler) cookieName() string {
	name := "prony-ui-" + cmp.Or(h.Name, "0")
	if h.Secure {
		return "__Host-" + name
	}
	return name
}
