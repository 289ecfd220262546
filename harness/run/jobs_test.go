package run

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/buildtest"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// job returns the short form of a scenario of scenarios/jobs, without limits of the host. Its window
// ends after a number of tasks.
func job(t *testing.T, name string) *scenario.Scenario {
	t.Helper()
	all, err := scenario.Load("../../scenarios/jobs/" + name + ".hcl")
	require.NoError(t, err)
	require.Len(t, all, 1)
	s := all[0]
	s.Rounds, s.Validity = 1, scenario.Validity{}
	s.Phases = scenario.Phases{Warmup: 20 * time.Millisecond, Window: patience, Tasks: 4 * windowTasks, Drain: patience}
	return s
}

// planted is the real server with a planted fault; see engine/internal/planted.
func planted(t *testing.T, fault string) server {
	t.Helper()
	program, err := buildtest.Program("queued-planted", "engine/cmd/queued", "-tags", "planted")
	require.NoError(t, err)
	return script(t, fmt.Sprintf(`exec env PRONY_PLANTED='%s' QUEUED_DISK_LOW=0B '%s' "$@"`, fault, program))
}

// executed runs a scenario on the real server, which must pass, and returns the account of its round.
func executed(t *testing.T, s *scenario.Scenario) result.Ledger {
	t.Helper()
	r := execute(t, s, real(t)).result
	require.Equal(t, result.Pass, r.Verdict, "%v", r.Reasons)
	return r.Rounds[0].Ledger
}

// findsFault runs a scenario on a server with a planted fault, and requires the reason.
func findsFault(t *testing.T, s *scenario.Scenario, fault, reason string) {
	t.Helper()
	r := execute(t, s, planted(t, fault)).result
	assert.Equal(t, result.Incorrect, r.Verdict)
	assert.Regexp(t, reason, strings.Join(r.Reasons, "\n"))
}

// Producers race for keys, by each driver that supports keys.
func TestUniqueKeys(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"stream", "unary", "rest"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := job(t, "unique")
			s.Workloads[0].Driver = name
			l := executed(t, s)
			assert.NotZero(t, l.Completed)
			assert.NotZero(t, l.Taken)
			assert.Zero(t, l.Doubled)
		})
	}
}

func TestDoubledUniqueKeysAreIncorrect(t *testing.T) {
	t.Parallel()
	findsFault(t, job(t, "unique"), "doubled:2", `not unique: \d+ tasks were unfinished while another task with the same unique key was; \d+ enqueues were refused; the first: `+
		`doubled: producer \d+ task \d+ and producer \d+ task \d+, both sent to t0/q0 under key \d+, were unfinished at the same time`)
}

// recurs is the short form of the scenario of recurring tasks, with fewer tasks.
func recurs(t *testing.T, window time.Duration) *scenario.Scenario {
	t.Helper()
	s := job(t, "recurring")
	forTime(s, window)
	s.Recurring.Tasks = 100
	s.Workloads[0].Arrivals.Rate.PerSecond = 200
	return s
}

func TestRecurringTasks(t *testing.T) {
	t.Parallel()
	for _, topology := range []scenario.Topology{
		{Kind: scenario.Single, Shards: 1, Durability: "none", Listen: "tcp"},
		{Kind: scenario.Raft, Nodes: 3, Shards: 2, Durability: "none", Listen: "tcp", Settings: calm},
	} {
		t.Run(topology.Kind, func(t *testing.T) {
			t.Parallel()
			s := recurs(t, 3*time.Second)
			s.Topology = topology
			r := execute(t, s, real(t)).result
			require.Equal(t, result.Pass, r.Verdict, "%v", r.Reasons)
			of := r.Rounds[0].Recurring
			require.NotNil(t, of)
			assert.GreaterOrEqual(t, of.Due, uint64(2*s.Recurring.Tasks))
			assert.Zero(t, of.Missed+of.Twice+of.Unscheduled)
			assert.NotZero(t, r.Rounds[0].Metrics[result.RecurringLateMs+"_n"])
		})
	}
}

func TestSkippedDueTimesAreIncorrect(t *testing.T) {
	t.Parallel()
	s := recurs(t, 2*time.Second)
	s.Phases.Drain = time.Second
	findsFault(t, s, "skipped:10", `recurring tasks: \d+ of \d+ due times became no task; the first: missed: \d+: the due time \d+ became no task`)
}

// cancels is the short form of the scenario of cancellations, at a rate that any host bears.
func cancels(t *testing.T) *scenario.Scenario {
	t.Helper()
	s := job(t, "cancel")
	forTime(s, 2*window)
	s.Topology.Settings = calm
	s.Workloads[0].Cancel = 0.2
	s.Workloads[0].Arrivals.Rate.PerSecond = 200
	return s
}

func TestCancellations(t *testing.T) {
	t.Parallel()
	r := execute(t, cancels(t), real(t)).result
	require.Equal(t, result.Pass, r.Verdict, "%v", r.Reasons)
	l := r.Rounds[0].Ledger
	assert.NotZero(t, l.Cancelled)
	assert.Equal(t, l.Enqueued, l.Completed+l.Cancelled)
	assert.Zero(t, l.Unnoticed+l.Duplicated)
	assert.NotZero(t, r.Rounds[0].Metrics[result.CancelNoticeMs+"_n"])
}

func TestCancellationsWithoutEffectAreIncorrect(t *testing.T) {
	t.Parallel()
	s := cancels(t)
	s.Topology = scenario.Topology{Kind: scenario.Single, Shards: 1, Durability: "none", Listen: "tcp"}
	findsFault(t, s, "uncancelled:5", `(?s)not noticed: the worker got no notice of \d+ of \d+ cancellations of leased tasks; the first: `+
		`unnoticed: producer \d+ task \d+ was cancelled while it was leased, and its worker was not notified.*`+
		`duplicated: producer \d+ task \d+: a completion was acknowledged again, or after the task was cancelled`)
}

// Headers arrive as they were enqueued, by each driver that supports headers.
func TestHeaders(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"stream", "unary", "rest"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := job(t, "headers")
			s.Workloads[0].Driver = name
			l := executed(t, s)
			assert.GreaterOrEqual(t, l.Labelled, l.Completed)
			assert.NotZero(t, l.Labelled)
			assert.Zero(t, l.WrongHeaders)
		})
	}
}

func TestWrongHeadersAreIncorrect(t *testing.T) {
	t.Parallel()
	findsFault(t, job(t, "headers"), "relabelled:2", `not labelled as enqueued: \d+ of \d+ deliveries had wrong headers; the first: `+
		`wrong headers: producer \d+ task \d+: the header "[\w-]+" was enqueued as "\w+" and delivered as "`)
}

// The final tasks of batches are delivered after their members, by each driver that supports batches.
func TestBatches(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"stream", "unary", "rest"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := job(t, "batch")
			s.Workloads[0].Driver = name
			l := executed(t, s)
			assert.NotZero(t, l.Finals)
			assert.Zero(t, l.Premature)
			assert.Equal(t, l.Enqueued, l.Completed)
		})
	}
}

func TestHastyFinalTasksAreIncorrect(t *testing.T) {
	t.Parallel()
	findsFault(t, job(t, "batch"), "hasty:2", `not after their members: \d+ of \d+ final tasks of batches were delivered before all members were completed; the first: `+
		`premature: producer \d+ task \d+, the final task of a batch, was delivered before the completion of \d+ of its 15 members was requested, such as task \d+`)
}
