package ui

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

//go:embed assets
var assets embed.FS

// assetsRoot is the path of the files that pages load. The path contains a hash of the files, so
// that a browser may keep them.
var assetsRoot = Root + "assets/" + assetsHash() + "/"

func assetsHash() string {
	sum := sha256.New()
	for _, name := range assetNames() {
		text, err := assets.ReadFile("assets/" + name)
		if err != nil {
			panic(err) // assetNames read it from the same folder
		}
		_, _ = sum.Write(text)
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// assetTypes are the types of the files that pages load, by extension. All others are templates.
var assetTypes = map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}

func assetNames() (names []string) {
	entries, err := assets.ReadDir("assets")
	if err != nil {
		panic(err) // the folder is in the binary
	}
	for _, e := range entries {
		if assetTypes[path.Ext(e.Name())] != "" {
			names = append(names, e.Name())
		}
	}
	return names
}

func serveAsset(w http.ResponseWriter, in *http.Request) {
	name := strings.TrimPrefix(in.URL.Path, assetsRoot)
	text, err := assets.ReadFile("assets/" + name)
	kind := assetTypes[path.Ext(name)]
	if err != nil || kind == "" {
		http.NotFound(w, in)
		return
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "private, max-age=31536000, immutable")
	_, _ = w.Write(text) // fails only if the client has closed the connection
}

// view is the content of a page.
type view struct {
	title    string
	template string // its file in assets, without the extension
	data     any
}

// page is the data of the layout.
type page struct {
	Title  string
	Assets string
	Login  string
	Logout string
	Notice string
	User   *user // nil on the page for signing in
	Data   any
}

// user is the signed-in user.
type user struct {
	Tenant    string // "*" for all tenants
	Operator  bool
	MayChange bool
	Form      string // the secret value of all forms
}

// templates contains one template for each page.
var templates = func() map[string]*template.Template {
	layout := template.Must(template.New("layout").Funcs(functions).ParseFS(assets, "assets/layout.html", "assets/parts.html"))
	files, err := fs.Glob(assets, "assets/*.html")
	if err != nil {
		panic(err) // the pattern is valid
	}
	out := map[string]*template.Template{}
	for _, file := range files {
		name := strings.TrimSuffix(path.Base(file), ".html")
		if name != "layout" && name != "parts" {
			out[name] = template.Must(template.Must(layout.Clone()).ParseFS(assets, file))
		}
	}
	return out
}()

// render writes a page. r is nil without a session.
func (h *handler) render(w http.ResponseWriter, code int, r *request, v view) {
	p := page{Title: v.title, Assets: assetsRoot, Login: loginPath, Logout: logoutPath, Data: v.data}
	if r != nil {
		p.Notice = r.session.noted()
		p.User = &user{Tenant: r.who.Tenant, Operator: r.operator(), MayChange: r.mayChange(), Form: r.session.form}
	}
	var text bytes.Buffer
	if err := templates[v.template].ExecuteTemplate(&text, "layout.html", p); err != nil {
		http.Error(w, "the page cannot be written: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	if r != nil {
		h.holds(r.ctx(), text.Len())
		defer h.holds(r.ctx(), -text.Len())
	}
	_, _ = w.Write(text.Bytes()) // fails only if the client has closed the connection
}

// refuse writes a page with the reason of a refusal.
func (h *handler) refuse(r *request, err error) {
	h.render(r.w, httpStatus(err), r, view{"Refused", "refused", status.Convert(err).Message()})
}

// httpStatus returns the HTTP status for the error of a call.
func httpStatus(err error) int {
	switch status.Code(err) {
	case codes.InvalidArgument, codes.FailedPrecondition, codes.OutOfRange:
		return http.StatusBadRequest
	case codes.Unauthenticated:
		return http.StatusUnauthorized
	case codes.PermissionDenied:
		return http.StatusForbidden
	case codes.NotFound:
		return http.StatusNotFound
	case codes.ResourceExhausted:
		return http.StatusTooManyRequests
	case codes.Unavailable:
		return http.StatusServiceUnavailable
	case codes.DeadlineExceeded:
		return http.StatusGatewayTimeout
	default:
		return http.StatusInternalServerError
	}
}
