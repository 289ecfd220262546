package access

import "errors"

// Errors of authentication. They do not reveal which tokens exist: ErrExpired is returned only for
// a secret that was valid.
var (
	ErrNoToken  = errors.New("no access token: send authorization: Bearer SECRET")
	ErrBadToken = errors.New("the access token is not valid")
	ErrExpired  = errors.New("the access token has expired or was replaced")
	// ErrNotYet means that the node has just started and does not know all tokens yet. The token
	// may be valid.
	ErrNotYet = errors.New("this node does not know the access tokens yet: try again, or another node")
	// ErrEnded means that the identity of a call or stream ended: see Identity.Done.
	ErrEnded = errors.New("the access token was revoked or replaced, or has expired")
)

// Errors of a change.
var (
	// ErrNotFound means that the token does not exist, or belongs to another tenant.
	ErrNotFound = errors.New("no such token")
	// ErrTooMany means that a limit of the registry is reached.
	ErrTooMany = errors.New("too many")
	// ErrPrecondition means that the state of the token does not allow the change.
	ErrPrecondition = errors.New("not possible now")
)

// Errors of a coordinator.
var (
	// ErrDeposed means that the reporting node knows a later coordinator.
	ErrDeposed = errors.New("another node has led shard 0 since")
	// ErrLateReport means that the coordinator has already answered this or a later report of the
	// node.
	ErrLateReport = errors.New("the coordinator has a later report of this node")
)

// DeniedError means that the caller lacks a permission, which Problem names.
type DeniedError struct{ Problem string }

func (e *DeniedError) Error() string { return e.Problem }
