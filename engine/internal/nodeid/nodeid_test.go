package nodeid

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestErrorsRepeatTheBeginningOfAnInput(t *testing.T) {
	long := strings.Repeat("ü", 1_000)
	want := `"` + strings.Repeat("ü", 64) + `" is not `
	for _, err := range []error{Check(long), CheckAddress(long)} {
		if assert.Error(t, err) {
			assert.True(t, strings.HasPrefix(err.Error(), want), err)
		}
	}
}
