package call

import (
	"context"
	"errors"
	"strings"
	"time"

	"google.golang.org/grpc/metadata"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/queue"
)

// DefaultTenant is the tenant of an operator's calls that name none.
const DefaultTenant = "default"

// Auth finds out who calls. All ways into a service go through it: the interceptors of NewServer, and Guard for HTTP.
// It is safe for concurrent use.
//
// Each call of a service checks with Tenant, TenantOrAll, Allowed or Operator what the caller may do. These refuse a context
// without a caller, so that a listener that was forgotten is closed.
type Auth struct {
	registry *access.Registry
	everyone *access.Identity // who calls when no tokens are asked for; nil when they are
	behind   func() bool      // whether the registry may lack tokens that are good; nil: it never does
	refused  func(error)      // called for each gRPC call that is refused by its headers, unless nil
}

// ObserveRefusals sets a function that is called, with the status, for each gRPC call or stream that is refused by its headers.
// Interceptors do not see these calls. refused must not block. Call ObserveRefusals before the server serves calls.
func (a *Auth) ObserveRefusals(refused func(error)) { a.refused = refused }

// NewAuth asks for the registry's tokens.
func NewAuth(r *access.Registry) *Auth { return &Auth{registry: r} }

// NewAuthBehind asks for the tokens of a registry that another node may be ahead of. While behind says so, a token that
// it does not know is not refused as a bad one: the caller is told to try again. behind is called for each such token.
func NewAuthBehind(r *access.Registry, behind func() bool) *Auth {
	return &Auth{registry: r, behind: behind}
}

// NoAuth asks for nothing: everybody is an operator.
func NoAuth() *Auth { return &Auth{everyone: access.Everybody()} }

func (a *Auth) off() bool { return a != nil && a.everyone != nil }

// authenticate returns who sent these values of the header or metadata "authorization".
func (a *Auth) authenticate(authorization []string) (*access.Identity, error) {
	if a.off() {
		return a.everyone, nil
	}
	if a == nil || len(authorization) == 0 { // a server that was given no Auth is closed
		return nil, access.ErrNoToken
	}
	scheme, secret, _ := strings.Cut(authorization[0], " ")
	if len(authorization) > 1 || !strings.EqualFold(scheme, "Bearer") {
		return nil, access.ErrBadToken
	}
	i, err := a.registry.Authenticate(secret, time.Now())
	if errors.Is(err, access.ErrBadToken) && a.behind != nil && a.behind() {
		return nil, access.ErrNotYet
	}
	return i, err
}

type identityKey struct{}

func withIdentity(ctx context.Context, i *access.Identity) context.Context {
	return context.WithValue(ctx, identityKey{}, i)
}

type authorizationKey struct{}

// withAuthorization keeps what a caller over HTTP showed, for calls that are forwarded to another node.
func withAuthorization(ctx context.Context, authorization []string) context.Context {
	if len(authorization) == 0 {
		return ctx
	}
	return context.WithValue(ctx, authorizationKey{}, authorization)
}

// Authorization returns what the caller showed.
func Authorization(ctx context.Context) []string {
	if a, ok := ctx.Value(authorizationKey{}).([]string); ok {
		return a
	}
	return metadata.ValueFromIncomingContext(ctx, "authorization")
}

// Identity returns who calls. It refuses a context that did not come through an Auth.
func Identity(ctx context.Context) (*access.Identity, error) {
	if i, ok := ctx.Value(identityKey{}).(*access.Identity); ok {
		return i, nil
	}
	return nil, access.ErrNoToken
}

// Allowed returns who calls, if its token has one of the scopes.
func Allowed(ctx context.Context, scopes access.Scopes) (*access.Identity, error) {
	i, err := Identity(ctx)
	if err != nil {
		return nil, err
	}
	if !i.Scopes.Any(scopes) {
		return nil, &access.DeniedError{Problem: "the access token has none of the scopes that this call needs: " + scopes.String()}
	}
	return i, nil
}

// Tenant is what a call begins with: it returns the tenant that it is for, if the caller has one of the scopes and
// the tenant is the caller's. A call that names none is for the token's tenant, or DefaultTenant with an operator's.
func Tenant(ctx context.Context, scopes access.Scopes, name string) (string, error) {
	i, err := Allowed(ctx, scopes)
	if err != nil {
		return "", err
	}
	return TenantOf(i, name)
}

// TenantOf is Tenant for a caller that is known.
func TenantOf(i *access.Identity, name string) (string, error) {
	tenant, err := TenantOrAllOf(i, name)
	if err == nil && tenant == "" {
		tenant = DefaultTenant
	}
	return tenant, err
}

// TenantOrAll is Tenant for calls that list: without a name, an operator's is for all tenants, and it returns "".
func TenantOrAll(ctx context.Context, scopes access.Scopes, name string) (string, error) {
	i, err := Allowed(ctx, scopes)
	if err != nil {
		return "", err
	}
	return TenantOrAllOf(i, name)
}

// TenantOrAllOf is TenantOrAll for a caller that is known.
func TenantOrAllOf(i *access.Identity, name string) (tenant string, err error) {
	switch {
	case name != "":
		err = FieldErr(queue.CheckName("tenant", name))
	case !i.Operator():
		name = i.Tenant
	}
	if err == nil && !i.Operator() && name != i.Tenant {
		err = &access.DeniedError{Problem: "the access token is for another tenant"}
	}
	return name, err
}

// Operator returns who calls, if it is an operator with the scope admin.
func Operator(ctx context.Context) (*access.Identity, error) {
	i, err := Allowed(ctx, access.Admin)
	if err == nil && !i.Operator() {
		err = &access.DeniedError{Problem: "this is an operator's: it needs an access token for all tenants"}
	}
	return i, err
}

// TokenEnded is closed when the caller's token is good no longer, for calls that wait.
func TokenEnded(ctx context.Context) <-chan struct{} {
	if i, err := Identity(ctx); err == nil {
		return i.Done()
	}
	return nil
}

// isAccessError reports whether an error says that the caller is not authenticated, or that it may not do what it asks.
func isAccessError(err error) (unauthenticated, denied bool) {
	var d *access.DeniedError
	return errors.Is(err, access.ErrNoToken) || errors.Is(err, access.ErrBadToken) || errors.Is(err, access.ErrExpired) || errors.Is(err, access.ErrEnded),
		errors.As(err, &d)
}
