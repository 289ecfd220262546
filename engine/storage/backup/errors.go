package backup

import (
	"errors"
	"fmt"
)

// NameError refuses the name of a backup.
type NameError struct{ Name string }

func (e *NameError) Error() string {
	return fmt.Sprintf(`%.80q is not 1 to 64 letters, digits, "-" and "_"`, e.Name)
}

// ErrExists refuses the name of an existing backup.
var ErrExists = errors.New("there is a backup of this name: name another, or remove it")
