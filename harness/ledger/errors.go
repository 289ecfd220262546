package ledger

import "errors"

var (
	// ErrDamaged says that bytes are not what Seal wrote.
	ErrDamaged = errors.New("payload is damaged")
	// ErrMisrouted says that a payload is not sealed for the tenant and queue that it was claimed from. Without a list of the
	// round's routes, which Ledger.Claimed has, damage to the checksum itself looks the same.
	ErrMisrouted = errors.New("payload is not sealed for this tenant and queue")
)
