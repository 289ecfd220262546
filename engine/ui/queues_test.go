package ui

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/adminpb"
)

func TestQueuesArePaged(t *testing.T) {
	s := newSite(t, nil)
	s.admin.queues = []*adminpb.Queue{{
		Tenant: "acme", Queue: "mail", Paused: true, Ready: 1_234_567, Delayed: 2, Leased: 3, Dead: 4, OldestReadyAgeMs: 93_784_000, EnqueuedPerS: 12.4, CompletedPerS: 0.25,
	}}
	s.admin.next = "token"
	s.signIn(access.AllTenants, access.AllScopes, "")
	text := s.get(Root + "?tenant=acme&prefix=m")
	for _, want := range []string{"acme", "mail", "paused", "1,234,567", "1 d 2 h", ">12<", ">0.25<", `href="/ui/?page=token&amp;prefix=m&amp;tenant=acme"`} {
		assert.Contains(t, text, want)
	}
	assert.NotContains(t, text, "First page")
	in := last[*adminpb.ListQueuesRequest](s)
	assert.Equal(t, []any{"acme", "m", uint32(rows), ""}, []any{in.GetTenant(), in.GetPrefix(), in.GetPageSize(), in.GetPageToken()})

	s.admin.next = ""
	text = s.get(Root + "?page=token")
	assert.Equal(t, "token", last[*adminpb.ListQueuesRequest](s).GetPageToken())
	assert.Contains(t, text, "First page")
	assert.NotContains(t, text, "Next page")
}

func TestATenantsUserSeesNoTenants(t *testing.T) {
	s := newSite(t, nil)
	s.signIn("acme", access.Admin, "")
	text := s.get(Root)
	assert.Contains(t, text, "tenant acme, read-only")
	assert.NotContains(t, text, `name="tenant"`)
}

func TestChartsShowWhatWasSeen(t *testing.T) {
	s := newSite(t, nil)
	s.admin.queues = []*adminpb.Queue{{Tenant: "acme", Queue: "mail", Ready: 4}}
	s.signIn(access.AllTenants, access.AllScopes, "")
	assert.NotContains(t, s.get(Root), "<svg")
	s.now = s.now.Add(time.Minute)
	s.admin.queues[0].Ready = 8
	text := s.get(Root)
	assert.Contains(t, text, `aria-label="tasks: at most 8"`)
	assert.Contains(t, text, `points="0.0,11.0 96.0,1.0"`)
}

func TestSamplesAreLimited(t *testing.T) {
	now := time.UnixMilli(0)
	s := newSamples(func() time.Time { return now })
	for i := range 2 * sampledQueuesMax {
		now = now.Add(time.Millisecond)
		s.add(&adminpb.Queue{Queue: fmt.Sprint(i)})
	}
	assert.Len(t, s.of, sampledQueuesMax)
	assert.NotContains(t, s.of, queueKey{name: "0"}, "the queue that was shown longest ago")
	q := &adminpb.Queue{Queue: "q"}
	for range 3 * samplesMax {
		now = now.Add(sampleEvery)
		s.add(q)
	}
	assert.Len(t, s.of[queueKey{name: "q"}], samplesMax)
	s.add(q)
	assert.Len(t, s.of[queueKey{name: "q"}], samplesMax, "two pages within a moment count once")
	now = now.Add(2 * sampleMax)
	assert.Len(t, s.add(q), 1)
}

func TestFailuresAreCharted(t *testing.T) {
	s := filled(t)
	s.signIn(access.AllTenants, access.AllScopes, "")
	const queue = Root + "queue?tenant=acme&queue=mail"
	assert.Contains(t, s.get(queue), "30 failed attempts, 12 expired leases")
	events := s.admin.queues[0].GetEvents()
	for _, more := range []uint64{10, 30} {
		s.now = s.now.Add(10 * time.Second)
		events.FailedAttempts += more
		s.get(Root)
	}
	text := s.get(queue)
	assert.Contains(t, text, "per second, at most 3<")
	assert.Contains(t, text, `class="failing" points="0.0,53.0 320.0,1.0`)
	assert.Contains(t, s.get(Root), `<td class="n">82</td>`)

	at := time.UnixMilli(0)
	line := failing([]sample{{at: at, failures: 50}, {at: at.Add(time.Second), failures: 5}, {at: at.Add(2 * time.Second), failures: 6}})[0]
	assert.Equal(t, []point{{at.Add(time.Second), 0}, {at.Add(2 * time.Second), 1}}, line.points, "the counter began again at 0")
}
