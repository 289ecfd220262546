package e2e

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// once returns a script with the given code in its only iteration.
func once(body string) string {
	return `import queue from 'k6/x/prony';
export const options = { iterations: 1, thresholds: { prony_failed_calls: ['count==0'], prony_cycles: ['count>0'] } };
const client = queue.connect();
export default async function () {
` + body + `
}
`
}

// The error about a script's mistake names the call, the field and the remedy.
func TestMistakesNameCallAndField(t *testing.T) {
	t.Parallel()
	s := serve(t)
	for name, c := range map[string]struct{ body, want string }{
		"wrong value": {
			`await client.produce({ queue: 'mistakes', payload: 'x', priority: 12 });`,
			`prony: produce: priority is 12: pass a whole number from 0 to 9`,
		},
		"unknown option": {
			`await client.claim({ queue: 'mistakes', waits: '1s' });`,
			`prony: claim: waits: there is no such option; did you mean wait?`,
		},
		"invalid header": {
			`await client.produce({ queue: 'mistakes', payload: 'x', headers: { To: 'me' } });`,
			`prony: produce: headers is {"To":"me"}: the key "To" is invalid: use 1 to 64 characters of a-z, 0-9 and "-_."`,
		},
		"no queue": {
			`await client.claim({});`,
			`prony: claim: queue: pass the name of the queue to claim from, or several as queues`,
		},
		"produce after close": {
			`await client.close(); await client.produce({ queue: 'mistakes', payload: 'x' });`,
			`prony: produce: the client is closed; connect again`,
		},
		"produce after the session's close": {
			`const p = client.producer(); await p.close(); await p.produce({ queue: 'mistakes', payload: 'x' });`,
			`prony: producer.produce: the session is closed; open another one`,
		},
		"not a task": {
			`await client.complete('task-1');`,
			`prony: complete: tasks: pass a task, or an array of tasks, as claim() resolved to`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := start(t, s.environment(), script(t, "mistake.js", once(c.body)))()
			assert.Contains(t, o.printed, c.want)
			assert.Equal(t, thresholdsCrossed, o.code, "there was no cycle")
		})
	}
}

func TestABadTokenIsNamed(t *testing.T) {
	t.Parallel()
	s := serve(t)
	env := append(s.environment(), "PRONY_TOKEN=nobody's")
	o := start(t, env, script(t, "token.js", once(`await client.produce({ queue: 'q', payload: 'x' });`)))()
	assert.Equal(t, thresholdsCrossed, o.code)
	assert.Contains(t, o.printed, `prony: produce: token: the access token is not valid`)
	assert.Equal(t, 1.0, o.metrics["prony_failed_calls"].figures["count"])
}

// A script without a token ends immediately with one error, even with many VUs.
func TestAMissingTokenEndsTheRun(t *testing.T) {
	t.Parallel()
	s := serve(t)
	const many = `import queue from 'k6/x/prony';
export const options = { vus: 20, iterations: 200 };
const client = queue.connect();
export default async function () { await client.produce({ queue: 'q', payload: 'x' }); }
`
	o := start(t, []string{"PRONY_ADDRESS=" + s.address, "PRONY_ADMIN=" + s.admin}, script(t, "none.js", many))()
	assert.Equal(t, scriptException, o.code)
	assert.Equal(t, 1, strings.Count(o.printed, "PRONY_TOKEN"), o.printed)
	assert.Contains(t, o.printed, "asks for an access token, and none is set: set PRONY_TOKEN, or pass token to connect()")
}

func TestAnUnknownQueueIsNamed(t *testing.T) {
	t.Parallel()
	s := serve(t)
	o := start(t, s.environment(), script(t, "queue.js", once(`await client.admin.queue('nowhere');`)))()
	assert.Contains(t, o.printed, `prony: admin.queue: name: tenant "default" has no queue "nowhere"`)
}

// A mistake in the init context ends k6 before it starts anything.
func TestAMistakeInTheInitContext(t *testing.T) {
	t.Parallel()
	o := start(t, nil, script(t, "init.js", "import queue from 'k6/x/prony';\nqueue.connect({ timeouts: '1s' });\nexport default function () {}\n"))()
	assert.Equal(t, scriptException, o.code)
	assert.Contains(t, o.printed, `prony: connect: timeouts: there is no such option; did you mean timeout?`)
}

// Without a server, the calls fail, the log reports it, a threshold is crossed, and the test ends
// soon.
func TestADeadServer(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.stop()
	for _, name := range []string{"smoke.js", "sustained.js", "throughput.js"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			o := start(t, append(s.environment(), "DURATION=10s", "DRAIN=5s"), filepath.Join(root, "scenarios", "k6", name))()
			assert.Equal(t, thresholdsCrossed, o.code)
			assert.Less(t, time.Since(began), time.Minute)
			assert.Contains(t, o.printed, s.address)
			assert.Less(t, strings.Count(o.printed, "\n"), 2000, "the log is not flooded")
			assert.Positive(t, o.metrics["prony_failed_calls"].figures["count"])
			assert.True(t, o.metrics["prony_failed_calls"].thresholds["count==0"], "the threshold is crossed")
		})
	}
}

func TestACrossedThresholdIsExitCode99(t *testing.T) {
	t.Parallel()
	s := serve(t)
	env := append(s.environment(), "DURATION=1s", "P99_MS=0")
	o := start(t, env, filepath.Join(root, "scenarios", "k6", "smoke.js"))()
	assert.Equal(t, thresholdsCrossed, o.code)
	assert.True(t, o.metrics["prony_cycle_duration"].thresholds["p(99)<0"])
	assert.False(t, o.metrics["prony_lost"].thresholds["count==0"], "the other thresholds passed")
}

// A task that is claimed and never completed is lost, and crosses a threshold.
func TestALostTaskIsFound(t *testing.T) {
	t.Parallel()
	s := serve(t)
	o := start(t, s.environment(), script(t, "lost.js", `
import queue from 'k6/x/prony';
export const options = { iterations: 1, thresholds: { prony_lost: ['count==0'], prony_duplicated: ['count==0'] } };
const client = queue.connect();
export default async function () {
  await client.produce({ queue: 'lost', size: 64, count: 5 });
  const tasks = await client.claim({ queue: 'lost', max: 5, lease: '1h', wait: '10s' });
  await client.complete(tasks.slice(0, 3));
}
`))()
	assert.Equal(t, thresholdsCrossed, o.code)
	require.Contains(t, o.metrics, "prony_lost")
	assert.Equal(t, 2.0, o.metrics["prony_lost"].figures["count"])
	assert.True(t, o.metrics["prony_lost"].thresholds["count==0"])
	assert.False(t, o.metrics["prony_duplicated"].thresholds["count==0"])
	assert.Equal(t, 3.0, o.metrics["prony_cycles"].figures["count"])
}
