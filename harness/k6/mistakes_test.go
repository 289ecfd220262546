package k6

import (
	"net"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/engine/node"
	"github.com/pronybench/prony/harness/k6run"
)

func TestMistakesNameTheCallAndTheField(t *testing.T) {
	server := startServer(t)
	s := run(t, server.env(), `const c = queue.connect(), p = c.producer(), w = c.worker({queues: ['q']});`)
	texts := golden.Cases(t, "testdata/mistakes.golden")
	for _, body := range []string{
		`queue.connect({tiemout: 1})`,
		`queue.connect({connections: 0})`,
		`queue.connect({tls: {ca: 'x'}})`,
		`queue.connect({tls: {cert: 'x'}})`,
		`queue.connect({address: 'example.org:1', token: 's'})`,
		`await c.produce({size: 64})`,
		`await c.produce({queue: 'q'})`,
		`await c.produce({queue: 'q', size: 31})`,
		`await c.produce({queue: 'q', size: 64, payload: 'x'})`,
		`await c.produce({queue: 'q', payload: 7})`,
		`await c.produce({queue: 'q', payload: 'x'.repeat(1<<20)})`,
		`await c.produce([])`,
		`await c.produce([{queue: 'q', size: 64}, {size: 64}])`,
		`await c.produce([{queue: 'q', size: 64, count: 600}, {queue: 'q', size: 64, count: 600}])`,
		`await c.produce({queue: 'q', size: 64, due: 3})`,
		`await c.produce({queue: 'q', size: 64, prority: 1})`,
		`await p.produce({queue: 'q', size: 64, priority: 10})`,
		`await c.produce({queue: 'q', size: 64, headers: 'x'})`,
		`await c.produce({queue: 'q', size: 64, headers: {to: 7}})`,
		`await c.produce({queue: 'q', size: 64, headers: {to: null}})`,
		`await c.produce({queue: 'q', size: 64, headers: {'': 'x'}})`,
		`await c.produce({queue: 'q', size: 64, headers: {To: 'x'}})`,
		`await c.produce({queue: 'q', size: 64, headers: {['k'.repeat(65)]: 'x'}})`,
		`await c.produce({queue: 'q', size: 64, headers: {to: 'x'.repeat(1025)}})`,
		"await c.produce({queue: 'q', size: 64, headers: {to: 'a\\nb'}})",
		`await c.produce({queue: 'q', size: 64, headers: Object.fromEntries([...Array(33).keys()].map((k) => ['k' + k, '']))})`,
		`await c.produce({queue: 'q', size: 64, headers: Object.fromEntries([...Array(5).keys()].map((k) => ['k' + k, 'x'.repeat(1000)]))})`,
		`await p.produce({queue: 'q', size: 64, kind: ''})`,
		`await p.produce({queue: 'q', size: 64, kind: 'x'.repeat(1025)})`,
		`await p.produce({queue: 'q', size: 64, kind: 'a', headers: {kind: 'b'}})`,
		`await p.produce({queue: 'q', size: 64, after: 'x'})`,
		`await p.produce({queue: 'q', size: 64, after: []})`,
		`await p.produce({queue: 'q', size: 64, after: ['x', 7]})`,
		`await p.produce({queue: 'q', size: 64, batchSize: 0})`,
		`await p.produce({queue: 'q', size: 64, batchSize: 100001})`,
		`await p.produce({queue: 'q', size: 64, batch: 7})`,
		`await p.produce({queue: 'q', size: 64, deadDependency: 'stop'})`,
		`await p.produce({queue: 'no spaces', size: 64})`,
		`await c.produce({queue: 'no spaces', size: 64})`,
		`await c.claim({max: 1})`,
		`await c.claim()`,
		`await c.claim({queue: 'q', wait: '2m'})`,
		`await w.claim({queue: 'q'})`,
		`c.worker({})`,
		`c.worker({queues: ['a'], weights: [1, 2]})`,
		`await c.complete('x')`,
		`await w.fail([{}])`,
		`await c.produce({queue: 'm', size: 64}); await w.complete(await c.claim({queue: 'm'}))`,
		`await c.produce({queue: 'n', size: 64}); await c.extend(await c.claim({queue: 'n'}))`,
		`await c.produce({queue: 'o', size: 64, count: 2}); await c.complete(await c.claim({queue: 'o', max: 2}), {result: 'x'})`,
		`await c.task()`,
		`await c.task('nonsense')`,
		`await c.admin.queue('nope')`,
		`await c.admin.tasks({})`,
		`await c.admin.tasks({queue: 'q', state: 'done'})`,
		`const x = c.producer(); await x.close(); await x.produce({queue: 'q', size: 64})`,
		`const x = c.worker({queues: ['q']}); await x.close(); await x.claim()`,
		`queue.load({window: '1s'})`,
	} {
		texts.Equal(t, body, s.fails(body))
	}
	texts.Equal(t, "a closed client", s.fails(`const d = queue.connect(); await d.close(); await d.produce({queue: 'q', size: 64})`))
	b := s.must(`return queue.balance()`).(map[string]any)
	assert.EqualValues(t, 0, b["unknown"], "calls that were never sent are not in doubt")
	sums, _ := s.Sum()
	assert.EqualValues(t, 0, sums["prony_failed_calls"], "a script's mistakes are not failed calls")
}

func TestNothingIsSentInTheInitContext(t *testing.T) {
	s := read(t, New(), nil, `const c = queue.connect({address: '127.0.0.1:1'});`)
	texts := golden.Cases(t, "testdata/initcontext.golden")
	for _, body := range []string{
		`await c.produce({queue: 'q', size: 64})`,
		`await c.worker({queues: ['q']}).claim()`,
		`await c.admin.status()`,
		`await c.close()`,
		`queue.balance()`,
		`queue.instance()`,
	} {
		texts.Equal(t, body, s.fails(body))
	}
}

func TestABadTokenIsNamed(t *testing.T) {
	server := startServer(t)
	env := server.env()
	env[k6run.TokenEnv] = "wrong"
	s := run(t, env, `const c = queue.connect();`)
	texts := golden.Cases(t, "testdata/badtokens.golden")
	for _, body := range []string{
		`await c.produce({queue: 'q', size: 64})`,
		`await c.producer().produce({queue: 'q', size: 64})`,
		`await c.worker({queues: ['q']}).claim()`,
		`await c.admin.status()`,
	} {
		_, err := s.do(body)
		require.Error(t, err)
		texts.Error(t, body, err)
		assert.Equal(t, "permission_denied", fieldOf(t, err, "code"), body)
	}
	b := s.must(`return queue.balance()`).(map[string]any)
	assert.EqualValues(t, 0, b["enqueued"])
	assert.EqualValues(t, 0, b["lost"])
}

// Without a token each call of each VU would fail for the same reason. Therefore the script ends in
// the init context, and the server is asked once.
func TestAMissingTokenIsNamedInTheInitContext(t *testing.T) {
	server := startServer(t)
	env := server.env()
	delete(env, k6run.TokenEnv)
	module := New()
	s := read(t, module, env, ``)
	want := "prony: connect: token: the server at " + server.address + " asks for an access token, and none is set: set PRONY_TOKEN, or pass token to connect()"
	for range 3 {
		_, err := s.do(`queue.connect()`)
		require.Error(t, err)
		assert.Equal(t, want, err.Error())
		assert.Equal(t, "permission_denied", fieldOf(t, err, "code"))
	}
	require.Len(t, module.process.pools, 1)
	server.stop()
	assert.Equal(t, want, s.fails(`queue.connect()`), "the first answer is reused")
	s.must(`queue.connect({token: 'of-somebody', address: '127.0.0.1:1'})`)
	s.must(`queue.connect({address: '127.0.0.1:1'})`)
	s.Run()
	s.must(`queue.connect()`)
}

func TestADeadServerIsAnErrorOfEachCall(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := closed.Addr().String()
	require.NoError(t, closed.Close())
	s := run(t, map[string]string{k6run.AddressEnv: address, k6run.AdminEnv: address}, `const c = queue.connect({timeout: '5s'}), p = c.producer(), w = c.worker({queues: ['q']});`)
	for _, body := range []string{
		`await c.produce({queue: 'q', size: 64})`,
		`await p.produce({queue: 'q', size: 64})`,
		`await w.claim()`,
		`await c.claim({queue: 'q'})`,
		`await c.admin.status()`,
	} {
		_, err := s.do(body)
		require.Error(t, err, body)
		assert.Equal(t, "unavailable", fieldOf(t, err, "code"), "%s: %v", body, err)
		assert.Regexp(t, `^prony: [a-z.]+: (address|admin): dial tcp `+regexp.QuoteMeta(address)+`: connect: connection refused: is the server up, and is this its address\?$`, err.Error())
	}
	sums, _ := s.Sum()
	assert.EqualValues(t, 5, sums["prony_failed_calls"])
}

// A failed call counts once, even with several kinds of tasks.
func TestAFailedCallIsCountedOnce(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	s := run(t, map[string]string{k6run.AddressEnv: closed.Addr().String()}, `const c = queue.connect();`)
	s.fails(`await c.produce([{queue: 'a', size: 64}, {queue: 'b', size: 64, count: 2}, {queue: 'c', size: 64}])`)
	outcome := s.module.process.meter.Outcome()
	assert.EqualValues(t, 1, outcome.FailedCalls.Count)
	assert.Contains(t, outcome.FailedCalls.First, "connection refused")
	assert.EqualValues(t, 0, s.module.process.account.Balance().Unknown, "an unsent call has stored nothing")
}

// A call that the end of its iteration interrupts does not count as failed.
func TestACallThatIsCutShortHasNotFailed(t *testing.T) {
	server := startServer(t)
	s := run(t, server.env(), `const c = queue.connect(), w = c.worker({queues: ['q']});`)
	s.must(`await w.claim({wait: 0});`)
	s.CancelContext()
	for _, body := range []string{`await w.claim()`, `await c.claim({queue: 'q'})`, `await c.produce({queue: 'q', size: 64})`, `await c.admin.status()`} {
		s.fails(body)
	}
	require.NoError(t, s.module.process.finish())
	sums, _ := s.Sum()
	assert.EqualValues(t, 0, sums["prony_failed_calls"])
	assert.EqualValues(t, 0, s.module.process.meter.Outcome().FailedCalls.Count)
}

// A later call reopens a broken session when the server is back.
func TestASessionIsOpenedAgain(t *testing.T) {
	dir, err := os.MkdirTemp("", "k6") // a socket's path must be short
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	config := node.Config{Listen: []string{"unix:" + filepath.Join(dir, "s")}, DataDir: t.TempDir()}
	server := startServerWith(t, config)
	s := run(t, server.env(), `const c = queue.connect(), p = c.producer(), w = c.worker({queues: ['q']});`)
	s.must(`await p.produce({queue: 'q', size: 64}); await w.complete(await w.claim());`)
	server.stop()
	assert.Regexp(t, "^prony: producer.produce: ", s.fails(`await p.produce({queue: 'q', size: 64})`))
	assert.Regexp(t, "^prony: worker.claim: ", s.fails(`await w.claim()`))
	startServerWith(t, config)
	s.must(`
		const again = async (call) => { for (let tries = 1; ; tries++) { try { return await call(); } catch (e) { if (tries === 50) throw e; } } };
		await again(() => p.produce({queue: 'r', size: 64}));
		const x = c.worker({queues: ['r']});
		await x.complete(await again(() => x.claim()));
		await again(() => w.claim({wait: 0}));`)
}

// A server on this host stores its operators' token in its data folder. Scripts find it as the
// server's commands do, and do not send it to another host.
func TestTheServersOwnTokenIsFound(t *testing.T) {
	server := startServer(t)
	data := t.TempDir()
	file := filepath.Join(data, "admin.token")
	require.NoError(t, os.WriteFile(file, []byte(server.token+"\n"), 0o600))
	env := server.env()
	delete(env, k6run.TokenEnv)
	env[dataEnv] = data
	s := run(t, env, `const c = queue.connect();`)
	s.must(`await c.produce({queue: 'q', size: 64}); await c.complete(await c.claim({queue: 'q'}));`)
	for addresses, want := range map[string]string{
		"127.0.0.1:1": server.token, "localhost:1,[::1]:2": server.token, "unix:/a": server.token, "10.0.0.1:1": "", "127.0.0.1:1,queue.test:1": "",
	} {
		token, err := s.module.process.localToken(addresses)
		require.NoError(t, err)
		assert.Equal(t, want, token, addresses)
	}
	require.NoError(t, os.Remove(file))
	token, err := s.module.process.localToken("127.0.0.1:1")
	require.NoError(t, err)
	assert.Empty(t, token, "there is none")
	require.NoError(t, os.Mkdir(file, 0o700))
	texts := golden.Cases(t, "testdata/servertoken.golden")
	texts.Replace(file, "FILE")
	texts.Equal(t, "a folder", s.fails(`queue.connect()`))
}
