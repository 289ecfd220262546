package ui

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/rpc/call"
)

const (
	loginPath  = Root + "login"
	logoutPath = Root + "logout"
)

// request is a request of a signed-in user.
type request struct {
	*http.Request

	w       http.ResponseWriter
	id      string // of the session
	session *session
	who     *access.Identity
}

// ctx returns the context for calls of the services. It contains the caller's identity.
func (r *request) ctx() context.Context { return r.Context() }

// operator reports whether the user may see all tenants.
func (r *request) operator() bool { return r.who.Operator() }

// mayChange reports whether the session may change something.
func (r *request) mayChange() bool { return r.session.changes && r.who.Scopes.Any(access.Admin) }

// signedIn serves requests with a session, and redirects others to the form for signing in.
func (h *handler) signedIn(serve func(*request)) http.HandlerFunc {
	return func(w http.ResponseWriter, in *http.Request) {
		id, s := h.sessionOf(in)
		if s == nil {
			h.askLogin(w, in)
			return
		}
		if in.Method == http.MethodPost && !s.proves(in.PostForm.Get("form")) {
			http.Error(w, "the form does not belong to this session: load the page again", http.StatusForbidden)
			return
		}
		h.as(w, in, s.secret, func(w http.ResponseWriter, in *http.Request, who *access.Identity) {
			serve(&request{Request: in, w: w, id: id, session: s, who: who})
		}, func(w http.ResponseWriter, err error) {
			if status.Code(err) == codes.Unauthenticated {
				h.sessions.end(id)
				h.askLogin(w, in)
				return
			}
			http.Error(w, status.Convert(err).Message(), httpStatus(err))
		})
	}
}

func (h *handler) sessionOf(in *http.Request) (id string, s *session) {
	c, err := in.Cookie(h.cookieName())
	if err != nil {
		return "", nil
	}
	return c.Value, h.sessions.find(c.Value)
}

// as authenticates a request with the secret of a token. The services see only this token, and no
// other header of the request.
func (h *handler) as(w http.ResponseWriter, in *http.Request, secret string,
	next func(http.ResponseWriter, *http.Request, *access.Identity), refuse func(http.ResponseWriter, error),
) {
	bare := in.WithContext(in.Context())
	bare.Header = http.Header{}
	if secret != "" {
		bare.Header.Set("Authorization", "Bearer "+secret)
	}
	h.Guard(http.HandlerFunc(func(w http.ResponseWriter, in *http.Request) {
		who, err := call.Identity(in.Context())
		if err != nil {
			refuse(w, call.Status(err))
			return
		}
		next(w, in, who)
	}), refuse).ServeHTTP(w, bare)
}

// askLogin redirects to the form for signing in.
func (h *handler) askLogin(w http.ResponseWriter, in *http.Request) {
	to := loginPath
	if in.Method == http.MethodGet && in.URL.RequestURI() != Root {
		to += "?" + url.Values{"next": {in.URL.RequestURI()}}.Encode()
	}
	http.Redirect(w, in, to, http.StatusSeeOther)
}

// loginView is the data of the form for signing in.
type loginView struct {
	Open    bool
	Next    string
	Problem string
}

func (h *handler) showLogin(w http.ResponseWriter, in *http.Request) {
	h.renderLogin(w, http.StatusOK, loginView{Next: nextOf(in.URL.Query().Get("next"))})
}

func (h *handler) renderLogin(w http.ResponseWriter, code int, v loginView) {
	v.Open = h.Open
	h.render(w, code, nil, view{"Sign in", "login", v})
}

// nextOf returns the path of this handler to show after signing in, or Root.
func nextOf(text string) string {
	at, err := url.Parse(text)
	if err != nil || !strings.HasPrefix(at.Path, Root) || strings.HasPrefix(at.Path, loginPath) {
		return Root
	}
	return at.RequestURI() // without a host
}

func (h *handler) login(w http.ResponseWriter, in *http.Request) {
	next, address := nextOf(in.PostForm.Get("next")), addressOf(in.RemoteAddr)
	if wait := h.failedSignIns.wait(address); wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(wait.Seconds())+1))
		h.renderLogin(w, http.StatusTooManyRequests, loginView{Next: next, Problem: "Too many failed attempts. Try again in a minute."})
		return
	}
	secret := ""
	if !h.Open {
		// A request without a token must not count as authenticated by another header.
		if secret = strings.TrimSpace(in.PostForm.Get("token")); secret == "" {
			h.renderLogin(w, http.StatusBadRequest, loginView{Next: next, Problem: "Enter an access token."})
			return
		}
	}
	h.as(w, in, secret, func(w http.ResponseWriter, in *http.Request, _ *access.Identity) {
		http.SetCookie(w, h.cookie(h.sessions.begin(secret, in.PostForm.Get("changes") == "yes")))
		http.Redirect(w, in, next, http.StatusSeeOther)
	}, func(w http.ResponseWriter, err error) {
		if status.Code(err) == codes.Unauthenticated {
			h.failedSignIns.add(address)
		}
		h.renderLogin(w, httpStatus(err), loginView{Next: next, Problem: "The server refused the token: " + status.Convert(err).Message()})
	})
}

func (h *handler) logout(r *request) {
	h.sessions.end(r.id)
	http.SetCookie(r.w, h.cookie(""))
	http.Redirect(r.w, r.Request, loginPath, http.StatusSeeOther)
}
