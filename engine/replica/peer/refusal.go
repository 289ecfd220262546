package peer

import (
	"errors"
	"fmt"
)

// Code is the reason for the refusal of a handshake. The numbers are part of the protocol.
type Code byte

// Reasons for a refusal.
const (
	accepted        Code = 0
	CodeMalformed   Code = 1 // the other side did not send a valid handshake
	CodeVersion     Code = 2 // the handshake has an incompatible version
	CodeCertificate Code = 3 // a side has no certificate of the CA, or one for another node
	CodeNode        Code = 4 // the dialer wanted to reach another node
	CodeDuplicate   Code = 5 // another process uses the dialer's node ID
	CodePlace       Code = 6 // the node does not have this group, or accepts no calls
)

var codeNames = [...]string{"accepted", "malformed", "version", "certificate", "node", "duplicate", "place"}

func (c Code) String() string {
	if int(c) < len(codeNames) {
		return codeNames[c]
	}
	return fmt.Sprintf("code %d", byte(c))
}

// RefusedError reports that a handshake was refused, by this side or by the other side.
type RefusedError struct {
	Code   Code
	Reason string // an English text for a log
	Remote bool   // true if the other side refused; false if this side did
}

// Error implements error.
func (e *RefusedError) Error() string {
	text := fmt.Sprintf("refused (%s): %s", e.Code, e.Reason)
	if e.Remote {
		text = "the other side " + text
	}
	if e.Code == CodeCertificate {
		text += ": each node needs its own certificate from the cluster's CA, as 'queued cluster init' makes it"
	}
	return text
}

func isRefused(err error) bool {
	refused := (*RefusedError)(nil)
	return errors.As(err, &refused)
}

func refuse(code Code, format string, about ...any) *RefusedError {
	reason := fmt.Sprintf(format, about...)
	return &RefusedError{Code: code, Reason: reason[:min(len(reason), reasonMax)]}
}
