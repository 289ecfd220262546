package peer

import (
	"errors"
	"fmt"
)

// Code is the reason why a handshake was refused. The numbers are on the wire.
type Code byte

// The codes.
const (
	accepted        Code = 0
	CodeMalformed   Code = 1 // the other side sent something else than a handshake
	CodeVersion     Code = 2 // of another version of the handshake
	CodeCertificate Code = 3 // a side has no certificate of the CA, or one for another node
	CodeNode        Code = 4 // another node is meant
	CodeDuplicate   Code = 5 // another process has the dialer's node id
	CodePlace       Code = 6 // the node does not have this group, or takes no calls
)

var codeNames = [...]string{"accepted", "malformed", "version", "certificate", "node", "duplicate", "place"}

func (c Code) String() string {
	if int(c) < len(codeNames) {
		return codeNames[c]
	}
	return fmt.Sprintf("code %d", byte(c))
}

// RefusedError says that a handshake was refused: by this side, or by the other one.
type RefusedError struct {
	Code   Code
	Reason string // in English, for a log
	Remote bool   // the other side refused
}

// Error implements error.
func (e *RefusedError) Error() string {
	text := fmt.Sprintf("refused (%s): %s", e.Code, e.Reason)
	if e.Remote {
		text = "the other side " + text
	}
	if e.Code == CodeCertificate {
		text += ": each node needs a certificate of its own from the cluster's CA, as 'queued cluster init' makes it"
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
