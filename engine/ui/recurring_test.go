package ui

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/adminpb"
)

func TestRecurringTasksArePaged(t *testing.T) {
	s := filled(t)
	s.signIn(access.AllTenants, access.AllScopes, "")
	text := s.get(Root + "recurring?tenant=acme&queue=mail&page=P")
	in := last[*adminpb.ListRecurringRequest](s)
	assert.Equal(t, []any{"acme", "mail", uint32(rows), "P"}, []any{in.GetTenant(), in.GetQueue(), in.GetPageSize(), in.GetPageToken()})
	assert.Contains(t, text, `href="/ui/recurring?page=TOKEN&amp;queue=mail&amp;tenant=acme"`)
	assert.Contains(t, text, `href="/ui/recurring/task?name=daily&amp;queue=mail&amp;tenant=acme"`)
}

func TestARecurringTaskIsFoundByItsName(t *testing.T) {
	s := filled(t)
	s.signIn(access.AllTenants, access.AllScopes, "")
	text := s.get(Root + "recurring/task?tenant=acme&queue=mail&name=daily")
	in := last[*adminpb.GetRecurringRequest](s)
	assert.Equal(t, []any{"acme", "mail", "daily"}, []any{in.GetTenant(), in.GetQueue(), in.GetName()})
	assert.Contains(t, text, "<h1>Recurring task daily</h1>")
	assert.NotContains(t, text, `method="post" action="/ui/recurring`)
}

func TestSchedulesAreWritten(t *testing.T) {
	assert.Equal(t, "every 1 h 30 min", schedule(&adminpb.RecurringSpec{IntervalMs: 5_400_000}))
	assert.Equal(t, "0 9 * * * (UTC)", schedule(&adminpb.RecurringSpec{Cron: "0 9 * * *"}))
	assert.Equal(t, "0 9 * * * (Europe/Berlin)", schedule(&adminpb.RecurringSpec{Cron: "0 9 * * *", TimeZone: "Europe/Berlin"}))
}
