package access

import "errors"

// Why a caller is not let in. None of them tells which tokens exist: ErrExpired is said only to who shows a secret that
// was good.
var (
	ErrNoToken  = errors.New("no access token: send authorization: Bearer SECRET")
	ErrBadToken = errors.New("the access token is not valid")
	ErrExpired  = errors.New("the access token has expired or was replaced")
	// ErrNotYet says that the token may be good: the node has only just started, and does not know all tokens yet.
	ErrNotYet = errors.New("this node does not know the access tokens yet: try again, or another node")
	// ErrEnded says that an identity that was good is so no longer: see Identity.Done.
	ErrEnded = errors.New("the access token was revoked or replaced, or has expired")
)

// Why a change is refused.
var (
	// ErrNotFound says that there is no such token, or that it is another tenant's.
	ErrNotFound = errors.New("no such token")
	// ErrTooMany says that a bound of the registry is reached.
	ErrTooMany = errors.New("too many")
	// ErrPrecondition says that the token is in no state for the change.
	ErrPrecondition = errors.New("not possible now")
)

// DeniedError says what the caller may not do.
type DeniedError struct{ Problem string }

func (e *DeniedError) Error() string { return e.Problem }
