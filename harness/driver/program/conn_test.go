package program

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/driver/null"
)

// sockets returns the two ends of a Unix connection.
func sockets(t testing.TB) (ours, theirs net.Conn) {
	t.Helper()
	dir, err := os.MkdirTemp("", "prony-")
	require.NoError(t, err)
	defer func() { require.NoError(t, os.RemoveAll(dir)) }()
	listener, err := net.Listen("unix", filepath.Join(dir, "s"))
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	theirs, err = net.Dial("unix", listener.Addr().String())
	require.NoError(t, err)
	ours, err = listener.Accept()
	require.NoError(t, err)
	return ours, theirs
}

func running() string { return "running" }

// through returns a connection that forwards calls to another one over the protocol.
func through(t testing.TB, to driver.Conn) driver.Conn {
	t.Helper()
	ours, theirs := sockets(t)
	served := make(chan error, 1)
	go func() { served <- serveConnection(context.Background(), theirs, to) }()
	conn := newConn(ours, running)
	t.Cleanup(func() {
		require.NoError(t, conn.Close())
		require.NoError(t, conn.Close(), "again")
		require.NoError(t, <-served)
	})
	return conn
}

// scripted is a driver whose calls do what a test defines.
type scripted struct {
	fails    bool
	open     func(tenant string, queues []string, slots int) error
	enqueue  func(ctx context.Context, tasks []driver.Task, outcomes []error) error
	claim    func(ctx context.Context, into []driver.Delivery) (int, error)
	complete func(ctx context.Context, deliveries []driver.Delivery, outcomes []error) error
	fail     func(ctx context.Context, deliveries []driver.Delivery, outcomes []error) error
	closed   error
}

func (s *scripted) Producer(_ context.Context, tenant string) (driver.Producer, error) {
	if s.open != nil {
		return s, s.open(tenant, nil, 0)
	}
	return s, nil
}

func (s *scripted) Worker(_ context.Context, tenant string, queues []string, slots int) (driver.Worker, error) {
	var err error
	if s.open != nil {
		err = s.open(tenant, queues, slots)
	}
	if s.fails {
		return scriptedFailer{s}, err
	}
	return s, err
}

func (s *scripted) Close() error { return s.closed }

func (s *scripted) Enqueue(ctx context.Context, tasks []driver.Task, outcomes []error) error {
	return s.enqueue(ctx, tasks, outcomes)
}

func (s *scripted) Claim(ctx context.Context, into []driver.Delivery) (int, error) {
	return s.claim(ctx, into)
}

func (s *scripted) Complete(ctx context.Context, deliveries []driver.Delivery, outcomes []error) error {
	return s.complete(ctx, deliveries, outcomes)
}

type scriptedFailer struct{ *scripted }

func (s scriptedFailer) Fail(ctx context.Context, deliveries []driver.Delivery, outcomes []error) error {
	return s.fail(ctx, deliveries, outcomes)
}

func sessions(t testing.TB, conn driver.Conn, queues ...string) (driver.Producer, driver.Worker) {
	t.Helper()
	p, err := conn.Producer(context.Background(), "t0")
	require.NoError(t, err)
	w, err := conn.Worker(context.Background(), "t0", queues, 8)
	require.NoError(t, err)
	return p, w
}

func tasks(queue string, payloads ...string) (all []driver.Task) {
	for _, payload := range payloads {
		all = append(all, driver.Task{Tenant: "t0", Queue: queue, Payload: []byte(payload)})
	}
	return all
}

func TestTasksComeOutAsTheyWentIn(t *testing.T) {
	p, w := sessions(t, through(t, null.New().Dial()), "a", "b")
	for _, call := range [][]driver.Task{tasks("a", "1", "22", ""), tasks("c", "of a queue without a worker"), tasks("b", "3"), tasks("a", "4", "5")} {
		outcomes := []error{errors.New("left from before"), nil, nil}[:len(call)]
		require.NoError(t, p.Enqueue(t.Context(), call, outcomes))
		for i := range call {
			require.NoError(t, outcomes[i])
			clear(call[i].Payload) // the caller may reuse the payloads
		}
	}
	var got []string
	for len(got) < 6 {
		into := make([]driver.Delivery, 4)
		n, err := w.Claim(t.Context(), into)
		require.NoError(t, err)
		for _, d := range into[:n] {
			assert.Equal(t, "t0", d.Tenant)
			got = append(got, d.Queue+":"+string(d.Payload))
		}
		require.NoError(t, w.Complete(t.Context(), into[:n], make([]error, n)))
	}
	assert.Equal(t, []string{"a:1", "a:22", "a:", "a:4", "a:5", "b:3"}, got)
}

// Arguments and outcomes of a driver are the same on both sides.
func TestOutcomesAndArguments(t *testing.T) {
	texts := golden.Cases(t, "testdata/handles.golden")
	long := strings.Repeat("é", reasonBytesMax)
	all := []error{nil, errors.New("full"), fmt.Errorf("%w: reset", driver.ErrUnknown), fmt.Errorf("%w: expired", driver.ErrLeaseOver), errors.New(long)}
	var opened []string
	settle := func(_ context.Context, deliveries []driver.Delivery, outcomes []error) error {
		for i := range deliveries {
			assert.Equal(t, i, deliveries[i].Handle, "the driver's own handles come back")
		}
		copy(outcomes, all)
		return nil
	}
	conn := through(t, &scripted{
		fails: true,
		open: func(tenant string, queues []string, slots int) error {
			opened = append(opened, fmt.Sprint(tenant, queues, slots))
			return nil
		},
		enqueue: func(_ context.Context, tasks []driver.Task, outcomes []error) error {
			for i := range tasks {
				assert.Equal(t, driver.Task{Tenant: "t0", Queue: "q" + fmt.Sprint(i), Payload: []byte{byte(i)}}, tasks[i])
			}
			copy(outcomes, all)
			return nil
		},
		claim: func(_ context.Context, into []driver.Delivery) (int, error) {
			assert.Len(t, into, 7)
			for i := range all {
				into[i] = driver.Delivery{Tenant: "ignored", Queue: "q" + fmt.Sprint(i), Payload: []byte{byte(i)}, Handle: i, Attempt: uint32(i)}
			}
			return len(all), nil
		},
		complete: settle, fail: settle,
	})
	check := func(outcomes []error) {
		t.Helper()
		require.NoError(t, outcomes[0])
		require.EqualError(t, outcomes[1], "full")
		require.EqualError(t, outcomes[2], "the outcome is unknown: the outcome is unknown: reset")
		require.ErrorIs(t, outcomes[2], driver.ErrUnknown)
		require.ErrorIs(t, outcomes[3], driver.ErrLeaseOver)
		require.NotErrorIs(t, outcomes[1], driver.ErrUnknown)
		require.True(t, strings.HasPrefix(outcomes[4].Error(), "ééé") && strings.HasSuffix(outcomes[4].Error(), " …"))
	}
	p, w := sessions(t, conn, "q0", "q1")
	assert.Equal(t, []string{"t0[] 0", "t0[q0 q1] 8"}, opened)
	var sent []driver.Task
	for i := range all {
		sent = append(sent, driver.Task{Tenant: "t0", Queue: "q" + fmt.Sprint(i), Payload: []byte{byte(i)}})
	}
	outcomes := make([]error, len(all))
	require.NoError(t, p.Enqueue(t.Context(), sent, outcomes))
	check(outcomes)
	for _, of := range []struct {
		name string
		do   func(context.Context, []driver.Delivery, []error) error
	}{{"complete", w.Complete}, {"fail", w.(driver.Failer).Fail}} {
		into := make([]driver.Delivery, 7)
		n, err := w.Claim(t.Context(), into)
		require.NoError(t, err)
		require.Equal(t, len(all), n)
		for i := range n {
			assert.Equal(t, driver.Delivery{Tenant: "t0", Queue: "q" + fmt.Sprint(i), Payload: []byte{byte(i)}, Handle: into[i].Handle, Attempt: uint32(i)}, into[i])
		}
		require.NoError(t, of.do(t.Context(), into[:n], outcomes))
		check(outcomes)
		// A handle is good for one call.
		texts.Error(t, of.name+" again", of.do(t.Context(), into[:1], outcomes[:1]))
	}
	texts.Error(t, "another driver's task", w.Complete(t.Context(), []driver.Delivery{{Queue: "q0", Handle: "x"}}, outcomes[:1]))
}

func TestCallsThatFail(t *testing.T) {
	texts := golden.Cases(t, "testdata/calls.golden")
	down := func(context.Context, []driver.Delivery, []error) error { return errors.New("down") }
	s := &scripted{
		enqueue:  func(context.Context, []driver.Task, []error) error { return errors.New("down") },
		claim:    func(context.Context, []driver.Delivery) (int, error) { return 0, errors.New("down") },
		complete: down,
	}
	conn := through(t, s)
	p, w := sessions(t, conn, "q")
	_, can := w.(driver.Failer)
	assert.False(t, can, "the target can't")
	texts.Error(t, "enqueue fails", p.Enqueue(t.Context(), tasks("q", "1"), make([]error, 1)))
	_, err := w.Claim(t.Context(), make([]driver.Delivery, 1))
	texts.Error(t, "claim fails", err)
	n, err := w.Claim(t.Context(), nil)
	require.NoError(t, err)
	assert.Zero(t, n)
	s.claim = func(_ context.Context, into []driver.Delivery) (int, error) {
		into[0] = driver.Delivery{Payload: make([]byte, frameBytesMax)}
		return 1, nil
	}
	_, err = w.Claim(t.Context(), make([]driver.Delivery, 1))
	texts.Error(t, "a long answer", err)
	texts.Error(t, "a long call", p.Enqueue(t.Context(), tasks("q", string(make([]byte, frameBytesMax))), make([]error, 1)))
	s.open = func(string, []string, int) error { return errors.New("no such tenant") }
	_, err = conn.Producer(t.Context(), "t9")
	texts.Error(t, "open fails", err)

	// Features that the protocol lacks.
	for name, task := range map[string]driver.Task{
		"another tenant": {Tenant: "t1"},
		"a priority":     {Tenant: "t0", Priority: 1},
		"a delay":        {Tenant: "t0", Delay: 1},
		"a long queue":   {Tenant: "t0", Queue: strings.Repeat("q", nameBytesMax+1)},
	} {
		texts.Error(t, name, p.Enqueue(t.Context(), []driver.Task{task}, make([]error, 1)))
	}
	texts.Error(t, "many tasks", p.Enqueue(t.Context(), make([]driver.Task, tasksMax+1), make([]error, tasksMax+1)))
	texts.Error(t, "a result", w.Complete(t.Context(), []driver.Delivery{{Result: []byte{}}}, make([]error, 1)))
	_, err = conn.Worker(t.Context(), "t0", []string{strings.Repeat("q", nameBytesMax+1)}, 1)
	texts.Error(t, "a long name", err)
}

// A cancelled claim ends in the program too, and tasks that were claimed at that moment are not
// lost.
func TestAClaimIsCancelled(t *testing.T) {
	began, ended := make(chan bool), make(chan error, 1)
	s := &scripted{claim: func(ctx context.Context, _ []driver.Delivery) (int, error) {
		began <- true
		<-ctx.Done()
		ended <- ctx.Err()
		return 0, ctx.Err()
	}}
	_, w := sessions(t, through(t, s), "q")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-began
		cancel()
	}()
	_, err := w.Claim(ctx, make([]driver.Delivery, 1))
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, <-ended, context.Canceled)

	s.claim = func(ctx context.Context, into []driver.Delivery) (int, error) {
		began <- true
		<-ctx.Done()
		into[0].Payload = []byte("just then")
		return 1, nil
	}
	ctx, cancel = context.WithCancel(t.Context())
	go func() {
		<-began
		cancel()
	}()
	into := make([]driver.Delivery, 1)
	n, err := w.Claim(ctx, into)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	assert.Equal(t, "just then", string(into[0].Payload))
}

// An enqueue ends with its context. A late answer does not reach the caller's memory.
func TestACallIsAbandoned(t *testing.T) {
	began, answer := make(chan bool), make(chan bool)
	s := &scripted{enqueue: func(_ context.Context, _ []driver.Task, outcomes []error) error {
		began <- true
		<-answer
		outcomes[0] = errors.New("late")
		return nil
	}}
	p, _ := sessions(t, through(t, s), "q")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-began
		cancel()
	}()
	outcomes := make([]error, 1)
	require.ErrorIs(t, p.Enqueue(ctx, tasks("q", "1"), outcomes), context.Canceled)
	close(answer)
	go func() { <-began }()
	require.NoError(t, p.Enqueue(t.Context(), tasks("q", "2"), make([]error, 1)))
	assert.NoError(t, outcomes[0])
}

// The protocol bounds the calls in progress: the next call waits, or ends with its context.
func TestCallsUnderWayAreBounded(t *testing.T) {
	release := make(chan bool)
	var mu sync.Mutex
	under := 0
	s := &scripted{enqueue: func(context.Context, []driver.Task, []error) error {
		mu.Lock()
		under++
		mu.Unlock()
		<-release
		return nil
	}}
	p, _ := sessions(t, through(t, s), "q")
	var calls sync.WaitGroup
	for range callsMax {
		calls.Go(func() { assert.NoError(t, p.Enqueue(context.Background(), tasks("q", "1"), make([]error, 1))) })
	}
	require.Eventually(t, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return under == callsMax
	}, time.Minute, time.Millisecond)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, p.Enqueue(ctx, tasks("q", "2"), make([]error, 1)), context.Canceled)
	calls.Go(func() { assert.NoError(t, p.Enqueue(context.Background(), tasks("q", "3"), make([]error, 1))) })
	close(release)
	calls.Wait()
	assert.Equal(t, callsMax+1, under)
}

// A stopped launch ends its connections.
func TestAConnectionEndsWithItsContext(t *testing.T) {
	ours, theirs := sockets(t)
	served := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { served <- serveConnection(ctx, theirs, null.New().Dial()) }()
	c := newConn(ours, running)
	_, w := sessions(t, c, "q")
	failed := make(chan error, 1)
	go func() {
		_, err := w.Claim(context.Background(), make([]driver.Delivery, 1))
		failed <- err
	}()
	cancel()
	require.Error(t, <-served)
	require.Error(t, <-failed)
	require.Error(t, c.Close())
}

// For any sizes of calls and any concurrency, each task is delivered once, and the tasks of a
// producer in order.
func TestEachTaskComesOutOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const producers, each = 3, 60
		batch := rapid.IntRange(1, 9).Draw(rt, "tasks a call")
		room := rapid.IntRange(1, 9).Draw(rt, "tasks a claim")
		ours, theirs := sockets(t)
		served := make(chan error, 1)
		go func() { served <- serveConnection(context.Background(), theirs, null.New().Dial()) }()
		conn := newConn(ours, running)
		p, w := sessions(t, conn, "q")
		var all sync.WaitGroup
		for i := range producers {
			all.Go(func() {
				for from := 0; from < each; from += batch {
					var payloads []string
					for k := from; k < min(from+batch, each); k++ {
						payloads = append(payloads, string([]byte{byte(i), byte(k)}))
					}
					assert.NoError(t, p.Enqueue(context.Background(), tasks("q", payloads...), make([]error, len(payloads))))
				}
			})
		}
		next := [producers]byte{}
		for got := 0; got < producers*each; {
			into := make([]driver.Delivery, room)
			n, err := w.Claim(context.Background(), into)
			require.NoError(rt, err)
			for _, d := range into[:n] {
				i, k := d.Payload[0], d.Payload[1]
				require.Equal(rt, next[i], k, "producer %d", i)
				next[i]++
			}
			require.NoError(rt, w.Complete(context.Background(), into[:n], make([]error, n)))
			got += n
		}
		all.Wait()
		require.NoError(rt, conn.Close())
		require.NoError(rt, <-served)
	})
}
