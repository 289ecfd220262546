package backup

import (
	"errors"
	"fmt"
)

// NameError reports an invalid name of a backup.
type NameError struct{ Name string }

func (e *NameError) Error() string {
	return fmt.Sprintf(`%.80q is not 1 to 64 letters, digits, "-" and "_"`, e.Name)
}

// ErrExists reports the name of an existing backup.
var ErrExists = errors.New("a backup with this name exists: choose another name, or remove it")
