package rpc

import (
	"net/http"
)

// Guard authenticates what comes to an HTTP handler by its header "Authorization: Bearer SECRET", and hands it on with
// the caller in the request's context, where the calls of a service look for it. Whoever can't be let in is refused
// before the body is read: refuse answers with an error that has a gRPC status.
func (a *Auth) Guard(next http.Handler, refuse func(http.ResponseWriter, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, in *http.Request) {
		authorization := in.Header.Values("Authorization")
		i, err := a.authenticate(authorization)
		if err != nil {
			refuse(w, statusOf(err))
			return
		}
		next.ServeHTTP(w, in.WithContext(withAuthorization(withIdentity(in.Context(), i), authorization)))
	})
}

// GuardOperator is Guard for what only an operator with the scope admin may have.
func (a *Auth) GuardOperator(next http.Handler, refuse func(http.ResponseWriter, error)) http.Handler {
	return a.Guard(http.HandlerFunc(func(w http.ResponseWriter, in *http.Request) {
		if _, err := operatorOf(in.Context()); err != nil {
			refuse(w, statusOf(err))
			return
		}
		next.ServeHTTP(w, in)
	}), refuse)
}
