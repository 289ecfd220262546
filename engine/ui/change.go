package ui

import (
	"net/http"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

var (
	errReadOnly = status.Error(codes.PermissionDenied, "this session is read-only: sign out, and sign in with changes allowed and with a token that has the scope admin")
	errNotSure  = status.Error(codes.InvalidArgument, "confirm the change: go back and select the box beside the button")
)

// change serves a form that changes something. do returns a sentence about the outcome, and the
// address of the page that shows it. If sure is true, the form must confirm the change.
func (h *handler) change(path string, sure bool, do func(*request) (done, to string, err error)) {
	h.mux.HandleFunc("POST "+Root+path, h.signedIn(func(r *request) {
		switch {
		case !r.mayChange():
			h.refuse(r, errReadOnly)
			return
		case sure && r.PostForm.Get("sure") != "yes":
			h.refuse(r, errNotSure)
			return
		}
		done, to, err := do(r)
		if err != nil {
			h.refuse(r, err)
			return
		}
		r.session.note(done)
		http.Redirect(r.w, r.Request, to, http.StatusSeeOther)
	}))
}
