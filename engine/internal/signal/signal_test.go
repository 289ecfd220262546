package signal

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSendKeepsOneElement(t *testing.T) {
	c := make(chan struct{}, 1)
	Send(c)
	Send(c)
	assert.Len(t, c, 1)
}
