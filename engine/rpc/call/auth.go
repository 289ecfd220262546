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

// DefaultTenant is the tenant of an operator's call that does not name a tenant.
const DefaultTenant = "default"

// Auth authenticates callers. All listeners of a service use it: gRPC listeners through the
// interceptors of NewServer, HTTP listeners through Guard. It is safe for concurrent use.
//
// Each call of a service checks the caller's permissions with Tenant, TenantOrAll, Allowed or
// Operator. These functions refuse a context without a caller. A listener without an Auth therefore
// refuses all calls.
type Auth struct {
	registry *access.Registry
	everyone *access.Identity // the caller of every call if no tokens are required; nil if they are
	behind   func() bool      // reports whether the registry may lack valid tokens; nil: never
	refused  func(error)      // if not nil, called for each gRPC call refused by its headers
}

// ObserveRefusals sets a function that receives the status of each gRPC call or stream that is
// refused because of its headers. Interceptors do not see these calls. refused must not block. Call
// ObserveRefusals before the server serves calls.
func (a *Auth) ObserveRefusals(refused func(error)) { a.refused = refused }

// NewAuth returns an Auth that requires tokens from the registry.
func NewAuth(r *access.Registry) *Auth { return &Auth{registry: r} }

// NewAuthBehind returns an Auth for a registry that may lack the newest changes made at another
// node. The Auth calls behind for each unknown token. If behind returns true, the refusal asks the
// client to try again.
func NewAuthBehind(r *access.Registry, behind func() bool) *Auth {
	return &Auth{registry: r, behind: behind}
}

// NoAuth returns an Auth that requires no token: every caller is an operator.
func NoAuth() *Auth { return &Auth{everyone: access.Everybody()} }

func (a *Auth) off() bool { return a != nil && a.everyone != nil }

// authenticate returns the caller. authorization has the values of the header or metadata key
// "authorization".
func (a *Auth) authenticate(authorization []string) (*access.Identity, error) {
	if a.off() {
		return a.everyone, nil
	}
	if a == nil || len(authorization) == 0 { // without an Auth, refuse all calls
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

// withAuthorization stores an HTTP caller's authorization in the context. Forwarded calls need it.
func withAuthorization(ctx context.Context, authorization []string) context.Context {
	if len(authorization) == 0 {
		return ctx
	}
	return context.WithValue(ctx, authorizationKey{}, authorization)
}

// Authorization returns the caller's authorization headers.
func Authorization(ctx context.Context) []string {
	if a, ok := ctx.Value(authorizationKey{}).([]string); ok {
		return a
	}
	return metadata.ValueFromIncomingContext(ctx, "authorization")
}

// Identity returns the caller. It refuses a context that does not come from an Auth.
func Identity(ctx context.Context) (*access.Identity, error) {
	if i, ok := ctx.Value(identityKey{}).(*access.Identity); ok {
		return i, nil
	}
	return nil, access.ErrNoToken
}

// Allowed returns the caller if its token has at least one of the scopes.
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

// Tenant returns the tenant of a call. It fails unless the caller has at least one of the scopes
// and may act for the tenant. If name is "", the tenant is the token's tenant, or DefaultTenant for
// an operator's token.
func Tenant(ctx context.Context, scopes access.Scopes, name string) (string, error) {
	i, err := Allowed(ctx, scopes)
	if err != nil {
		return "", err
	}
	return TenantOf(i, name)
}

// TenantOf is like Tenant, for a known caller and without the check of scopes.
func TenantOf(i *access.Identity, name string) (string, error) {
	tenant, err := TenantOrAllOf(i, name)
	if err == nil && tenant == "" {
		tenant = DefaultTenant
	}
	return tenant, err
}

// TenantOrAll is Tenant for calls that list. If name is "" and the caller is an operator, it
// returns "", which means all tenants.
func TenantOrAll(ctx context.Context, scopes access.Scopes, name string) (string, error) {
	i, err := Allowed(ctx, scopes)
	if err != nil {
		return "", err
	}
	return TenantOrAllOf(i, name)
}

// TenantOrAllOf is like TenantOrAll, for a known caller and without the check of scopes.
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

// Operator returns the caller if it is an operator with the scope admin.
func Operator(ctx context.Context) (*access.Identity, error) {
	i, err := Allowed(ctx, access.Admin)
	if err == nil && !i.Operator() {
		err = &access.DeniedError{Problem: "this call is for operators: use an access token for all tenants"}
	}
	return i, err
}

// TokenEnded returns a channel that is closed when the caller's token expires or is revoked. Calls
// that wait watch it.
func TokenEnded(ctx context.Context) <-chan struct{} {
	if i, err := Identity(ctx); err == nil {
		return i.Done()
	}
	return nil
}

// isAccessError classifies err. unauthenticated means that the caller is not authenticated; denied
// means that the caller may not make the call.
func isAccessError(err error) (unauthenticated, denied bool) {
	var d *access.DeniedError
	return errors.Is(err, access.ErrNoToken) || errors.Is(err, access.ErrBadToken) || errors.Is(err, access.ErrExpired) || errors.Is(err, access.ErrEnded),
		errors.As(err, &d)
}
