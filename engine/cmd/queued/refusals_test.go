package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
)

// refusals are command lines with values that the program or the server refuses.
var refusals = [][]string{
	{"enqueue", "--queue", "q", "x", "--delay", "10000d"},
	{"enqueue", "--queue", "q", "x", "--delay", "99999999d"},
	{"enqueue", "--queue", "q", "x", "--delay", "10"},
	{"enqueue", "--queue", "q", "x", "--delay", "-5s"},
	{"enqueue", "--queue", "q", "x", "--delay", "367d"},
	{"enqueue", "--queue", "a b", "x"},
	{"enqueue", "--queue", "q", "x", "--ttl", "1000000h"},
	{"enqueue", "--queue", "q", "x", "--lease", "30d"},
	{"enqueue", "--queue", "q", "x", "--result-retention", "400d"},
	{"enqueue", "--queue", "q", "x", "--priority", "10"},
	{"enqueue", "--queue", "q", "x", "--max-attempts", "1000001"},
	{"enqueue", "--queue", "q", "x", "--header", "Kind=a"},
	{"enqueue", "--queue", "q", "x", "--header", "kind=a\tb"},
	{"enqueue", "--queue", "q", "--lines", "--delay", "10000d"},
	{"claim", "--queue", "q", "--lease", "1000d"},
	{"claim", "--queue", "q", "--max", "1001"},
	{"fail", "ID", "TOKEN", "--delay", "10000d"},
	{"extend", "ID", "TOKEN", "--lease", "10000d"},
	{"release", "ID", "TOKEN", "--delay", "10000d"},
	{"complete", "nope", "1"},
	{"complete", "ID", "1"},
	{"complete", "ID", "-1"},
	{"complete", "ID", "0"},
	{"complete", "ID", "--", "-1"},
	{"fail", "ID", "-12"},
	{"complete", "ID", "-x"},
	{"queues", "configure", "q", "--backoff-max", "10000d"},
	{"queues", "configure", "q", "--backoff-initial", "2h", "--backoff-max", "1h"},
	{"queues", "configure", "q", "--backoff-jitter", "101"},
	{"queues", "configure", "q", "--backoff-multiplier", "20"},
	{"tenants", "configure", "acme", "--bytes-max", "1GB"},
	{"tenants", "configure", "acme", "--bytes-max", "99999999TiB"},
	{"tenants", "tokens", "create", "--tenant", "acme", "--scope", "work", "--expires-in", "90000d"},
	{"tenants", "tokens", "rotate", "tok_1", "--grace", "31d"},
	{"status", "--timeout", "soon"},
	{"queues", "purge", "q", "--yes=maybe"},
	{"claim", "--queue", "q", "--wiat", "5s"},
}

// The golden file has the exact refusals, in terms of the command line: the flag, and the value and
// its limit with units.
func TestRefusalsAreAnsweredAsWritten(t *testing.T) {
	s, _ := serveInProcess(t)
	s.in = "a line\n"
	s.ok("enqueue", "--queue", "q", "x")
	var c claimed
	s.json(&c, "claim", "--queue", "q", "--lease", "1h")
	var made struct{ Token struct{ ID string } }
	s.json(&made, "tenants", "tokens", "create", "--tenant", "acme", "--scope", "work")
	var b strings.Builder
	for _, args := range refusals {
		fmt.Fprintf(&b, "$ queued %s\n", strings.Join(args, " "))
		real := make([]string, len(args))
		for i, arg := range args {
			real[i] = strings.NewReplacer("tok_1", made.Token.ID, "ID", c.Tasks[0].ID, "TOKEN", c.Tasks[0].Token).Replace(arg)
		}
		r := s.run(real...)
		assert.NotEqual(t, exitOK, r.code, "%v", args)
		fmt.Fprintf(&b, "%s%sexit %d\n\n", r.out, r.err, r.code)
	}
	golden.Text(t, "testdata/refusals.golden", strings.ReplaceAll(b.String(), c.Tasks[0].ID, "ID"))
}

// The size of a payload that is too large is reported in size units.
func TestALargePayloadIsRefusedInItsUnits(t *testing.T) {
	s, _ := serveInProcess(t)
	s.in = strings.Repeat("x", 2<<20)
	s.run("enqueue", "--queue", "q").fails(exitUsage, "queued: payload: has 2MiB: send at most 1MiB\n")
}

func TestAClaimOfAPausedQueueSaysSo(t *testing.T) {
	s, _ := serveInProcess(t)
	s.ok("enqueue", "--queue", "mail", "hello")
	s.ok("queues", "pause", "mail")
	r := s.run("claim", "--queue", "mail")
	assert.Equal(t, ran{t, exitOK, "", "no task is ready: queue mail is paused; 'queued queues resume mail' resumes it\n"}, r)
	r = s.run("claim", "--queue", "mail=2", "--queue", "other", "--wait", "1ms")
	assert.Equal(t, "queue mail is paused; 'queued queues resume mail' resumes it: waiting\n"+
		"no task is ready: queue mail is paused; 'queued queues resume mail' resumes it\n", r.err)
	var out struct {
		Tasks  []any
		Paused []string `json:"paused_queues"`
	}
	s.json(&out, "claim", "--queue", "mail", "--wait", "1ms")
	assert.Empty(t, out.Tasks)
	assert.Equal(t, []string{"mail"}, out.Paused)
	s.ok("queues", "resume", "mail")
	s.json(&out, "claim", "--queue", "mail")
	assert.Len(t, out.Tasks, 1)
	assert.Empty(t, out.Paused)
}

func TestAClaimAtTheQuotaOfLeasesSaysSo(t *testing.T) {
	s, _ := serveInProcess(t)
	s.ok("tenants", "configure", "default", "--leases-max", "1")
	s.ok("enqueue", "--queue", "mail", "hello")
	s.ok("enqueue", "--queue", "mail", "again")
	s.ok("claim", "--queue", "mail")
	const why = "the tenant is at its quota leases_max; settle tasks that it has leased, or raise the quota with 'queued tenants configure'"
	assert.Equal(t, ran{t, exitOK, "", "no task is ready: " + why + "\n"}, s.run("claim", "--queue", "mail"))
	assert.Equal(t, why+": waiting\nno task is ready: "+why+"\n", s.run("claim", "--queue", "mail", "--wait", "1ms").err)
	var out struct{ Quota string }
	s.json(&out, "claim", "--queue", "mail")
	assert.Equal(t, "leases_max", out.Quota)
	s.ok("tenants", "configure", "default", "--leases-max", "2")
	s.json(&out, "claim", "--queue", "mail")
	assert.Empty(t, out.Quota)
}

// Pausing a nonexistent queue is refused, and the refusal names the command that creates it.
func TestAPauseOfANewNameIsRefused(t *testing.T) {
	s, _ := serveInProcess(t)
	s.run("queues", "pause", "mial").fails(exitUsage, "queued: there is no queue \"mial\": check the name, or create the queue by configuring it\n")
	s.ok("queues", "configure", "mail", "--reset")
	s.ok("queues", "pause", "mail")
}

// A rotation reports how long the old secret is valid, and the server enforces it.
func TestARotationSaysWhatBecomesOfTheOldSecret(t *testing.T) {
	s, _ := serveInProcess(t)
	now := time.Now()
	s.clock.now = func() time.Time { return now }
	var made struct {
		Secret string
		Token  struct{ ID string }
		Until  int64 `json:"old_secret_until_ms,string"`
	}
	s.json(&made, "tenants", "tokens", "create", "--tenant", "acme", "--scope", "produce")
	enqueue := func(secret string) int { return s.run("enqueue", "--queue", "q", "x", "--token", secret).code }
	first := made.Secret
	require.Equal(t, exitOK, enqueue(first))

	s.json(&made, "tenants", "tokens", "rotate", made.Token.ID, "--grace", "1h")
	assert.Equal(t, now.Add(time.Hour).UnixMilli(), made.Until)
	assert.Equal(t, exitOK, enqueue(first))
	assert.Equal(t, exitOK, enqueue(made.Secret))
	assertRow(t, s.ok("tenants", "tokens", "rotate", made.Token.ID, "--grace", "2h"), "old secret", "also valid until "+when(now.Add(2*time.Hour).UnixMilli()))

	table := s.ok("tenants", "tokens", "rotate", made.Token.ID)
	assertRow(t, table, "old secret", "ended: only the new secret is valid; 'queued tenants tokens rotate ID --grace 1h' extends the old one")
	assert.Equal(t, exitUsage, enqueue(made.Secret))
	s.json(&made, "tenants", "tokens", "rotate", made.Token.ID)
	assert.Zero(t, made.Until)
}

// The distance of a refused time is readable, however far away it is.
func TestAMomentThatIsTooFarIsRefusedReadably(t *testing.T) {
	s, _ := serveInProcess(t)
	for _, at := range []time.Time{time.Now().Add(1160*24*time.Hour + 2*time.Hour + 18*time.Minute + 30*time.Second), time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)} {
		r := s.run("enqueue", "--queue", "q", "x", "--not-before", at.UTC().Format(time.RFC3339))
		r.fails(exitUsage, "queued: --not-before: must be at most 366d from now: "+at.UTC().Format(time.RFC3339)+" is ")
		assert.Regexp(t, ` is \d+d( (\d+h)?(\d+m)?)? from now\n$`, r.err)
	}
	assert.Equal(t, "1160d 2h18m", spanOf("100232280000"))
	assert.Equal(t, "366d", spanOf("31622400000"))
	assert.Equal(t, "23h59m59s", spanOf("86399400"))
}

// A time of day means its next occurrence.
func TestATimeOfDayIsTheNextOne(t *testing.T) {
	zone := time.FixedZone("here", 2*60*60)
	now := time.Date(2026, 12, 31, 9, 0, 0, 0, zone)
	assert.Equal(t, time.Date(2026, 12, 31, 9, 1, 0, 0, zone), nextTime(now, 9, 1))
	assert.Equal(t, time.Date(2027, 1, 1, 9, 0, 0, 0, zone), nextTime(now, 9, 0))
	assert.Equal(t, time.Date(2027, 1, 1, 0, 0, 0, 0, zone), nextTime(now, 0, 0))
	var at time.Time
	v := nextTimeValue{timeValue{&at}}
	require.NoError(t, v.Set("23:59"))
	assert.Positive(t, time.Until(at))
	require.NoError(t, v.Set("2030-01-31T09:00:00Z"))
	assert.Equal(t, time.Date(2030, 1, 31, 9, 0, 0, 0, time.UTC), at.UTC())
	require.Error(t, v.Set("24:00"))
}
