package ledger

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/harness/result"
)

func TestHeadersOfDeliveriesAreThoseOfTheEnqueue(t *testing.T) {
	l := newLedger(1)
	want := map[string]string{"kind": "mail", "to": "a"}
	for _, got := range []map[string]string{
		{"to": "a", "kind": "mail"}, {"kind": "mail", "to": "b"}, {"kind": "mail"}, {"kind": "mail", "to": "a", "cc": "b"}, nil,
	} {
		l.HeadersBack(task(0, 3), want, got)
	}
	assert.Equal(t, result.Ledger{Labelled: 5, WrongHeaders: 4, Samples: []string{
		`wrong headers: producer 0 task 3: the header "to" was enqueued as "a" and delivered as "b"`,
		`wrong headers: producer 0 task 3: the header "to" was enqueued as "a" and delivered as ""`,
		`wrong headers: producer 0 task 3: 3 headers instead of 2`,
		`wrong headers: producer 0 task 3: the header "kind" was enqueued as "mail" and delivered as ""`,
	}}, l.Balance())
}
