package ledger

import "errors"

var (
	// ErrDamaged reports that the bytes of a payload are not the bytes that Seal wrote.
	ErrDamaged = errors.New("payload is damaged")
	// ErrMisrouted reports that a payload was claimed from a tenant or queue that it was not sealed
	// for. A damaged checksum causes the same error. Only Ledger.Claimed can distinguish the two
	// cases, because it knows the round's routes.
	ErrMisrouted = errors.New("payload is not sealed for this tenant and queue")
)
