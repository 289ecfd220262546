package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// claimed is the JSON output of claim.
type claimed struct {
	Tasks []struct {
		ID      string
		Queue   string
		Token   string
		Attempt int
		Payload string
		State   string
	}
}

func (c claimed) payload(t *testing.T, i int) string {
	t.Helper()
	text, err := base64.StdEncoding.DecodeString(c.Tasks[i].Payload)
	require.NoError(t, err)
	return string(text)
}

func TestATaskFromEnqueueToComplete(t *testing.T) {
	s, _ := serveInProcess(t)
	id := strings.TrimSpace(s.ok("enqueue", "--queue", "mail", "hello"))
	assert.Len(t, id, 24)
	assertRow(t, s.ok("task", id), "state", "ready")

	table := s.ok("claim", "--queue", "mail", "--lease", "1h")
	fields := strings.Fields(strings.Split(table, "\n")[1])
	require.Len(t, fields, 5, table)
	assert.Equal(t, id, fields[0])
	token := fields[1]
	assert.Equal(t, []string{"1", "mail", "hello"}, fields[2:])
	assertRow(t, s.ok("task", id), "state", "leased")

	assert.Equal(t, id+"  extended\n", s.ok("extend", id, token, "--lease", "2h"))
	assert.NotContains(t, s.ok("tasks", "list", "--queue", "mail", "--state", "leased"), "NOTE")
	assert.Equal(t, id+"  extended\n", s.ok("extend", id, token, "--lease", "2h", "--note", "half of it"))
	assertRow(t, s.ok("task", id), "note", "half of it")
	assert.Regexp(t, `(?m)^`+id+` .* half of it +hello$`, s.ok("tasks", "list", "--queue", "mail", "--state", "leased"))
	assert.Equal(t, id+"  released\n", s.ok("release", id, token))
	var waiting struct{ Tasks []struct{ Note string } }
	s.json(&waiting, "tasks", "list", "--queue", "mail", "--state", "ready")
	require.Len(t, waiting.Tasks, 1)
	assert.Equal(t, "half of it", waiting.Tasks[0].Note)
	s.run("complete", id, token).fails(exitUsage, "queued: ")

	var c claimed
	s.json(&c, "claim", "--queue", "mail")
	require.Len(t, c.Tasks, 1)
	assert.Equal(t, "TASK_STATE_LEASED", c.Tasks[0].State)
	assert.Equal(t, "hello", c.payload(t, 0))
	assert.Equal(t, id+"  failed\n", s.ok("fail", id, c.Tasks[0].Token, "--error", "no such mailbox", "--delay", "0s"))
	shown := s.ok("task", id)
	assertRow(t, shown, "last error", "no such mailbox")
	assertRow(t, shown, "state", "delayed")

	s.json(&c, "claim", "--queue", "mail", "--wait", "30s")
	require.Len(t, c.Tasks, 1)
	assert.Equal(t, 2, c.Tasks[0].Attempt)
	s.run("fail", id, c.Tasks[0].Token, "--permanent", "--delay", "1s").fails(exitUsage, "queued: ")
	hopeless := strings.TrimSpace(s.ok("enqueue", "--queue", "closed", "hello"))
	var d claimed
	s.json(&d, "claim", "--queue", "closed")
	assert.Equal(t, hopeless+"  failed\n", s.ok("fail", hopeless, d.Tasks[0].Token, "--permanent"))
	assert.Contains(t, s.ok("dead", "list", "--queue", "closed", "--reason", "permanent"), hopeless)
	assert.Equal(t, id+"  completed\n", s.ok("complete", id, c.Tasks[0].Token))
	r := s.run("task", id, "--output", "json")
	r.fails(exitUsage)
	assert.Equal(t, "not_found", r.failure().Code)
}

// Headers are shown wherever a task is, and tasks without headers are shown as before.
func TestATaskWithHeaders(t *testing.T) {
	s, _ := serveInProcess(t)
	s.in = "line\n"
	s.ok("enqueue", "--queue", "mail", "--lines", "--header", "kind=welcome", "--header", "trace=a=b c")
	s.ok("enqueue", "--queue", "mail", "hello")
	list := s.ok("tasks", "list", "--queue", "mail", "--state", "ready", "--kind", "welcome")
	assert.Regexp(t, "LEASED UNTIL +HEADERS +PAYLOAD\n", list)
	assert.Contains(t, list, "kind=welcome trace=a=b c  line\n")
	assert.Equal(t, list, s.ok("tasks", "list", "--queue", "mail", "--state", "ready", "--header", "trace=a=b c"))
	assert.NotContains(t, list, "hello")

	claimed := strings.Split(s.ok("claim", "--queue", "mail"), "\n")
	assert.Equal(t, strings.Fields("ID TOKEN ATTEMPT QUEUE HEADERS PAYLOAD"), strings.Fields(claimed[0]))
	fields := strings.Fields(claimed[1])
	assert.Equal(t, []string{"1", "mail", "kind=welcome", "trace=a=b", "c", "line"}, fields[2:])
	shown := s.ok("task", fields[0])
	assertRow(t, shown, "header", "kind=welcome")
	assert.Contains(t, shown, "trace=a=b c\n")
	assert.Contains(t, s.ok("task", fields[0], "--output", "json"), `"kind": "welcome"`)

	claimed = strings.Split(s.ok("claim", "--queue", "mail"), "\n")
	assert.Equal(t, strings.Fields("ID TOKEN ATTEMPT QUEUE PAYLOAD"), strings.Fields(claimed[0]))
	assert.NotContains(t, s.ok("task", strings.Fields(claimed[1])[0]), "header")
}

func TestAUniqueTask(t *testing.T) {
	s, _ := serveInProcess(t)
	unique := func(more ...string) []string {
		return append([]string{"enqueue", "--queue", "q", "--key", "k", "--unique", "until-finished", "hello"}, more...)
	}
	id := strings.TrimSpace(s.ok(unique()...))
	var again struct {
		ID        string
		Duplicate bool
	}
	s.json(&again, unique("--on-conflict", "first")...)
	assert.Equal(t, id, again.ID)
	assert.True(t, again.Duplicate)
	s.run(unique("--on-conflict", "refuse")...).fails(exitUsage, "queued: another task holds the key: "+id)
	r := s.run(unique("--on-conflict", "refuse", "--output", "json")...)
	r.fails(exitUsage)
	assert.Equal(t, "already_exists", r.failure().Code)
	replaced := strings.TrimSpace(s.ok(unique("--on-conflict", "replace", "--priority", "3")...))
	assert.NotEqual(t, id, replaced)
	s.run("task", id).fails(exitUsage)
	s.json(&again, "enqueue", "--queue", "q", "--key", "k", "--key-window", "30d", "hello")
	assert.Equal(t, replaced, again.ID)
	s.run("enqueue", "--queue", "q", "--key", "k", "--key-window", "31d", "hello").fails(exitUsage, "queued: --key-window: must be 0s to 30d, not 31d")
	s.run("enqueue", "--queue", "q", "--key", "k", "--unique", "until-started", "--key-window", "1d", "hello").
		fails(exitUsage, "queued: --key-window: is set with another scope than FOR_A_TIME")
	s.run("enqueue", "--queue", "q", "--unique", "until-started", "hello").fails(exitUsage, "queued: --unique, --key-window and --on-conflict are options of a key: pass --key too")
	assertRow(t, s.ok("queues", "configure", "q", "--key-window", "7d"), "key window", "7d")
	assert.Contains(t, s.ok("queues", "show", "q", "--output", "json"), `"key_window_ms": "604800000"`)
}

func TestABatchAndADependency(t *testing.T) {
	s, _ := serveInProcess(t)
	final := strings.TrimSpace(s.ok("enqueue", "--queue", "albums", "--batch-size", "2", "--dead-dependency", "run", "done"))
	var made struct{ ID string }
	s.json(&made, "enqueue", "--queue", "images", "--batch", final, "cat")
	cat := made.ID
	next := strings.TrimSpace(s.ok("enqueue", "--queue", "albums", "--after", final+","+cat, "--dead-dependency", "die", "next"))
	shown := s.ok("task", next)
	assertRow(t, shown, "state", "waiting")
	assertRow(t, shown, "waits for", "2 tasks")
	list := s.ok("tasks", "list", "--queue", "albums", "--state", "waiting")
	assert.Regexp(t, "LEASED UNTIL +WAITS FOR +PAYLOAD\n", list)
	assert.Regexp(t, "(?m)^"+next+" .* 2 +next$", list)
	assert.NotContains(t, s.ok("tasks", "list", "--queue", "images", "--state", "ready"), "WAITS FOR")
	assertRow(t, s.ok("queues", "show", "albums"), "waiting", "2")

	complete := func(queue, result string) {
		var c claimed
		s.json(&c, "claim", "--queue", queue)
		require.Len(t, c.Tasks, 1)
		s.ok("complete", c.Tasks[0].ID, c.Tasks[0].Token, "--result", result)
	}
	complete("images", "cat.png")
	until := func(arguments, want string) (r ran) {
		require.Eventually(t, func() bool {
			r = s.run(strings.Fields(arguments)...)
			return strings.Contains(r.out, want)
		}, patience, time.Millisecond, "%s: %s", arguments, want)
		return r
	}
	r := until("dependencies "+final, "cat.png")
	require.Equal(t, exitOK, r.code, r.err)
	assert.Equal(t, "the task still waits for 1 task\n", r.err)
	assert.Equal(t, []string{"ID", "OUTCOME", "RESULT", cat, "done", "cat.png"}, strings.Fields(r.out))
	s.in = "dog\n"
	s.ok("enqueue", "--queue", "images", "--lines", "--batch", final)
	complete("images", strings.Repeat("d", 4<<10+1))
	until("dependencies "+final, "(longer than 4 KiB)")
	var out struct {
		Dependencies []struct{ ID, Outcome string }
		WaitingFor   int `json:"waiting_for"`
	}
	s.json(&out, "dependencies", final, "--limit", "1")
	require.Len(t, out.Dependencies, 1)
	assert.Equal(t, "DEPENDENCY_OUTCOME_DONE", out.Dependencies[0].Outcome)
	until("task "+final, "ready")
	complete("albums", "")
	s.run("dependencies", final).fails(exitUsage)
	until("task "+next, "ready")

	s.run("enqueue", "--queue", "q", "--after", cat, "--after", "nonsense", "x").fails(exitUsage, "queued: --after: ")
	s.run("enqueue", "--queue", "q", "--batch-size", "100001", "x").fails(exitUsage, "queued: --batch-size: ")
	s.run("enqueue", "--queue", "q", "--dead-dependency", "run", "x").fails(exitUsage, "queued: --dead-dependency: ")
	s.run("enqueue", "--queue", "q", "--after", next, "--delay", "1h", "x").fails(exitUsage, "queued: --delay: ")
}

func TestLimitsOfAQueue(t *testing.T) {
	s, _ := serveInProcess(t)
	shown := s.ok("queues", "configure", "q", "--placement", "ordered", "--leased-max", "5", "--rate", "2.5", "--burst", "4", "--group-leased-max", "1")
	assertRow(t, shown, "limit", "5 leased, 2.5/s, burst 4")
	assertRow(t, shown, "group limit", "1 leased")
	for range 2 {
		s.ok("enqueue", "--queue", "q", "--header", "group=a", "hello")
	}
	s.ok("claim", "--queue", "q", "--max", "2")
	assertRow(t, s.ok("queues", "show", "q"), "parked", "1")
	shown = s.ok("queues", "configure", "q", "--rate", "0", "--burst", "0", "--group-leased-max", "0")
	assertRow(t, shown, "limit", "5 leased")
	assertRow(t, shown, "group limit", "none")
	s.run("queues", "configure", "q", "--group-burst", "3").fails(exitUsage, "queued: --group-burst: is set without rate_per_s: set both")
	s.run("queues", "configure", "q", "--rate", "-1").fails(exitUsage, "--rate")
}

// The refusals of a call with several items are reported per item, and the other items take effect.
func TestItemsAreRefusedAlone(t *testing.T) {
	s, _ := serveInProcess(t)
	s.ok("enqueue", "--queue", "q", "a")
	var c claimed
	s.json(&c, "claim", "--queue", "q")
	id, token := c.Tasks[0].ID, c.Tasks[0].Token
	r := s.run("complete", "-o", "json", id, token, id, "1")
	r.fails(exitUsage)
	var out struct {
		Results []struct {
			ID    string
			OK    bool
			Error struct{ Code, Message string }
		}
	}
	decodeJSON(t, r.out, &out)
	require.Len(t, out.Results, 2)
	assert.True(t, out.Results[0].OK)
	assert.False(t, out.Results[1].OK)
	assert.Equal(t, "ERROR_CODE_STALE_TOKEN", out.Results[1].Error.Code)
	assert.Equal(t, "stale_token", r.failure().Code)
	assert.Contains(t, r.failure().Message, id)
}

// A settlement of a task that was cancelled while it was leased has its own code and text.
func TestASettlementOfACancelledTaskSaysSo(t *testing.T) {
	s, _ := serveInProcess(t)
	s.ok("enqueue", "--queue", "q", "a")
	var c claimed
	s.json(&c, "claim", "--queue", "q")
	id, token := c.Tasks[0].ID, c.Tasks[0].Token
	s.ok("tasks", "cancel", id, "--yes")
	r := s.run("complete", id, token)
	r.fails(exitUsage, "the task was cancelled while it was leased")
	r = s.run("fail", "-o", "json", id, token)
	r.fails(exitUsage)
	assert.Equal(t, "cancelled", r.failure().Code)
}

func TestPayloadsComeFromArgumentFileAndInput(t *testing.T) {
	s, _ := serveInProcess(t)
	file := filepath.Join(t.TempDir(), "payload")
	binary := "\x00\xff two\nlines \x1b[31m"
	require.NoError(t, os.WriteFile(file, []byte(binary), 0o600))
	s.ok("enqueue", "--queue", "q", "argument", "--priority", "3")
	s.ok("enqueue", "--queue", "q", "--file", file, "--priority", "2")
	s.in = "input\n"
	s.ok("enqueue", "--queue", "q", "--priority", "1")
	var c claimed
	s.json(&c, "claim", "--queue", "q", "--max", "10")
	require.Len(t, c.Tasks, 3)
	assert.Equal(t, "argument", c.payload(t, 0))
	assert.Equal(t, binary, c.payload(t, 1))
	assert.Equal(t, "input\n", c.payload(t, 2))
	shown := s.ok("task", c.Tasks[1].ID)
	assert.NotContains(t, shown, "\x1b", "a payload must not move the terminal's cursor")
	assert.Contains(t, shown, `"\x00\xff two\nlines \x1b[31m"`)

	s.asks = true
	s.run("enqueue", "--queue", "q").fails(exitUsage, "there is no payload: pass it as an argument, with --file, or through a pipe")
}

func TestPoliciesOfATaskAreSent(t *testing.T) {
	s, _ := serveInProcess(t)
	var task struct {
		Task struct {
			State    string
			DueAt    int64 `json:"due_at_ms,string"`
			Attempts int   `json:"max_attempts"`
			Priority int
		}
	}
	var enqueued struct{ ID string }
	s.json(&enqueued, "enqueue", "--queue", "q", "x", "--delay", "1d", "--max-attempts", "7", "--priority", "9")
	s.json(&task, "task", enqueued.ID)
	assert.Equal(t, "TASK_STATE_DELAYED", task.Task.State)
	assert.Equal(t, 7, task.Task.Attempts)
	assert.Equal(t, 9, task.Task.Priority)
	assert.InDelta(t, time.Now().Add(24*time.Hour).UnixMilli(), task.Task.DueAt, float64(time.Hour.Milliseconds()))
	r := s.run("enqueue", "--queue", "no spaces", "x", "-o", "json")
	r.fails(exitUsage)
	assert.Equal(t, failure{Code: "invalid_argument", Field: "queue", Message: r.failure().Message}, r.failure())
	r = s.run("enqueue", "--queue", "q", "x", "--priority", "10", "-o", "json")
	assert.Equal(t, "priority", r.failure().Field)
}

func TestClaimWithoutATask(t *testing.T) {
	s, _ := serveInProcess(t)
	r := s.run("claim", "--queue", "empty", "--wait", "1ms")
	assert.Equal(t, exitOK, r.code)
	assert.Empty(t, r.out)
	assert.Equal(t, "no task is ready\n", r.err)
	var c claimed
	s.json(&c, "claim", "--queue", "a", "--queue", "b")
	assert.Empty(t, c.Tasks)
	s.run("claim", "--queue", "q", "--lease", "1000d").fails(exitUsage, "--lease: must be 0s to 1d, not 1000d")
}

// A new task wakes a waiting claim.
func TestClaimWaits(t *testing.T) {
	s, _ := serveInProcess(t)
	other := *s
	claimedAll := make(chan ran, 1)
	go func() { claimedAll <- other.run("claim", "--queue", "q", "--wait", "10m") }()
	s.ok("enqueue", "--queue", "q", "late")
	r := <-claimedAll
	assert.Equal(t, exitOK, r.code, r.err)
	assert.Contains(t, r.out, "late")
}

func TestLinesAreTasksInOrder(t *testing.T) {
	s, _ := serveInProcess(t)
	const n = 2_500
	var in strings.Builder
	for i := range n {
		fmt.Fprintf(&in, "line %d\n", i)
	}
	s.in = in.String() + "\nlast, without an end"
	assert.Equal(t, "ENQUEUED  DUPLICATES  REFUSED  UNKNOWN\n2502      0           0        0\n", s.ok("enqueue", "--queue", "import", "--lines"))
	s.in = ""
	next := 0
	for next < n+2 {
		var c claimed
		s.json(&c, "claim", "--queue", "import", "--max", "1000", "--lease", "1h")
		require.NotEmpty(t, c.Tasks)
		for i := range c.Tasks {
			want := fmt.Sprintf("line %d", next)
			switch next {
			case n:
				want = ""
			case n + 1:
				want = "last, without an end"
			}
			require.Equal(t, want, c.payload(t, i))
			next++
		}
	}
	var out tally
	s.json(&out, "enqueue", "--queue", "import", "--lines")
	assert.Equal(t, tally{Refusals: []refusal{}}, out)
}

// A refused line does not affect the other lines.
func TestLinesAreRefusedAlone(t *testing.T) {
	s, _ := serveInProcess(t)
	s.in = "a\n" + strings.Repeat("x", 2<<20) + "\nb\n"
	r := s.run("enqueue", "--queue", "q", "--lines", "-o", "json")
	r.fails(exitUsage)
	assert.Equal(t, "1 line refused", r.failure().Message)
	assert.Equal(t, "invalid_argument", r.failure().Code)
	var out tally
	decodeJSON(t, r.out, &out)
	assert.EqualValues(t, 2, out.Enqueued)
	assert.EqualValues(t, 1, out.Refused)
	require.Len(t, out.Refusals, 1)
	assert.EqualValues(t, 2, out.Refusals[0].Line)
	assert.Equal(t, "invalid_argument", out.Refusals[0].Code)
	assert.Equal(t, "payload", out.Refusals[0].Field)
	assert.Contains(t, s.run("enqueue", "--queue", "q", "--lines").out, "line 2: payload")

	s.in = "a\n" + strings.Repeat("x", payloadBytesMax+1)
	s.run("enqueue", "--queue", "q", "--lines").fails(exitUsage, "line 2 is longer than 16 MiB, the maximum of any server", ": 1 tasks are enqueued")
	s.in = strings.Repeat("x", payloadBytesMax+1)
	s.run("enqueue", "--queue", "q").fails(exitUsage, "the payload is larger than 16 MiB")
}

// An interrupted command reports the interrupt and its progress.
func TestInterrupted(t *testing.T) {
	s, _ := serveInProcess(t)
	ctx, cancel := context.WithCancel(t.Context())
	s.ctx = ctx
	done := make(chan ran, 1)
	go func() { done <- s.run("claim", "--queue", "q", "--wait", "10m", "-o", "json") }()
	cancel()
	r := <-done
	assert.Equal(t, exitInterrupted, r.code, r.err)
	assert.Equal(t, "interrupted", r.failure().Code)
}

func TestProbe(t *testing.T) {
	s, n := serveInProcess(t)
	assert.Equal(t, "ok\n", s.ok("probe"))
	assert.Equal(t, "ok\n", s.ok("probe", "--live"))
	var out struct{ Status int }
	s.json(&out, "probe")
	assert.Equal(t, 200, out.Status)
	s.run("probe", "--admin-server", n.Addresses()[0]).fails(exitUnreachable, "can't reach the server")
	s.run("probe", "--admin-server", "nowhere").fails(exitUsage, "is not a server address")
}

// The server is alive but not ready: it is starting or stopping.
func TestProbeOfAServerThatIsNotReady(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/livez" {
			http.Error(w, "stopping", http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte("ok\n"))
	}))
	defer server.Close()
	s := newShell(t, "QUEUED_ADMIN_SERVER="+strings.TrimPrefix(server.URL, "http://"))
	s.run("probe").fails(exitFailed, "the server answered /readyz with 503: stopping")
	assert.Equal(t, "ok\n", s.ok("probe", "--live"))
}

// A long wait takes several calls, each of the server's longest wait.
func TestALongWaitIsSeveralCalls(t *testing.T) {
	at := time.Unix(0, 0)
	c := &clock{now: func() time.Time { return at }}
	var waits []time.Duration
	wait := func(wait time.Duration) (bool, error) {
		waits = append(waits, wait)
		at = at.Add(wait)
		return false, nil
	}
	require.NoError(t, inWaits(c, 150*time.Second, wait))
	assert.Equal(t, []time.Duration{time.Minute, time.Minute, 30 * time.Second}, waits)
	waits = nil
	require.NoError(t, inWaits(c, 0, wait))
	assert.Equal(t, []time.Duration{0}, waits)
	calls := 0
	require.NoError(t, inWaits(c, time.Hour, func(time.Duration) (bool, error) { calls++; return calls == 2, nil }))
	assert.Equal(t, 2, calls)
}

func TestConfigCheckAndShow(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("q.hcl", []byte("shards = 4\nqueue {\n  lease = \"1m\"\n}\n"), 0o600))
	s := newShell(t, "QUEUED_DURABILITY=none", "QUEUED_SHARDS=5", "QUEUED_DURABILTY=x", "QUEUED_TOKEN=secret")
	assert.Equal(t, "q.hcl is valid: 2 settings\n", s.ok("config", "check", "q.hcl"))
	var check struct {
		OK       bool
		Problems []any
	}
	s.json(&check, "config", "check", "q.hcl")
	assert.True(t, check.OK)

	r := s.run("config", "show", "--config", "q.hcl", "--shards", "6")
	require.Equal(t, exitOK, r.code, r.err)
	for _, line := range []string{
		`shards +6 +flag --shards`,
		`durability +none +environment QUEUED_DURABILITY`,
		`queue.lease +1m +file q.hcl:3:3`,
		`sync_interval +10ms +default`,
		`tls.cert +- +default`,
	} {
		assert.Regexp(t, "(?m)^"+line+"$", r.out)
	}
	assert.Equal(t, "warning: QUEUED_DURABILTY: there is no such environment variable: did you mean QUEUED_DURABILITY?\n", r.err)
	var shown struct {
		Settings []struct{ Name, Value, Origin, At string }
		Warnings []struct{ At string }
	}
	s.json(&shown, "config", "show", "--config", "q.hcl")
	require.Len(t, shown.Warnings, 1)
	for _, x := range shown.Settings {
		if x.Name == "shards" {
			assert.Equal(t, "5", x.Value)
			assert.Equal(t, "environment", x.Origin)
		}
	}

	require.NoError(t, os.WriteFile("q.hcl", []byte("shards = 0\nshrads = 1\n"), 0o600))
	r = s.run("config", "check", "q.hcl", "-o", "json")
	assert.Equal(t, exitUsage, r.code)
	assert.Equal(t, "configuration", r.failure().Code)
	decodeJSON(t, r.out, &check)
	assert.False(t, check.OK)
	assert.Len(t, check.Problems, 2)
}
