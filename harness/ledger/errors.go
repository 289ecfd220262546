package ledger

import "errors"

var (
	// ErrDamaged reports that Seal did not write these bytes.
	ErrDamaged = errors.New("payload is damaged")
	// ErrMisrouted reports that a payload was sealed for another tenant or queue than the one it
	// was claimed from. Damage to the checksum gives the same error; only Ledger.Claimed, which
	// knows the round's routes, can distinguish the two.
	ErrMisrouted = errors.New("payload is not sealed for this tenant and queue")
)
