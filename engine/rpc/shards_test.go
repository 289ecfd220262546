package rpc_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/queuepb"
)

// severalShards is the name prefix of tests whose nodes have three shards.
const severalShards = "TestWithSeveralShards/"

// TestWithSeveralShards repeats the tests that must hold for any number of shards.
func TestWithSeveralShards(t *testing.T) {
	for name, test := range map[string]func(*testing.T){
		"ClaimWithoutWait":             TestClaimWithoutWaitAnswersAtOnce,
		"ClaimWaits":                   TestClaimWaitsForALaterEnqueue,
		"ManyWaitingClaims":            TestManyWaitingClaimsGetOneTaskEach,
		"ClaimCompletes":               TestAClaimCompletesTheTasksOfAnotherClaim,
		"CancelledClaim":               TestACancelledClaimTakesNothingLater,
		"ExpiredLease":                 TestAnExpiredLeaseComesBackWithAnotherTokenAndAttempt,
		"BadTask":                      TestABadTaskIsRefusedAlone,
		"TooManyQueues":                TestTooManyQueuesIsOverloadNotABadField,
		"BadSettlement":                TestABadSettlementIsRefusedAlone,
		"GetTask":                      TestGetTaskInEachState,
		"Tenants":                      TestTenantsAreIsolated,
		"StopWaitingClaims":            TestStopLetsWaitingClaimsReturnEmpty,
		"StopIdleStreams":              TestStopEndsIdleStreams,
		"StopBusyStreams":              TestStopAnswersWhatItReadAndEndsBusyStreams,
		"StopSettlements":              TestStopAnswersTheSettlementsItRead,
		"WorkCredits":                  TestWorkPushesNoMoreThanWasGranted,
		"WorkQueues":                   TestWorkPushesAsTasksComeFromAllItsQueues,
		"WorkSettlesEachItem":          TestWorkSettlesEachItemAlone,
		"WorkUnread":                   TestAStreamThatDoesNotReadIsBounded,
		"HalfClose":                    TestHalfCloseDeliversWhatWasGranted,
		"HalfCloseHeldUp":              TestHalfCloseDeliversWhatFlowControlHeldUp,
		"CutStream":                    TestACutStreamLeavesLeasesThatExpire,
		"LargeTasksFlow":               TestLargeTasksFlowThroughAStreamWithManyCredits,
		"CreditsAreUsedUp":             TestCreditsAreUsedUpByWhatIsSent,
		"TasksOwnTimes":                TestATasksOwnTimes,
		"Keys":                         TestAKeyStoresOnce,
		"Results":                      TestAResultIsKeptAndAwaited,
		"AwaitStates":                  TestAwaitTellsTheStateWhenTheTimeIsOver,
		"AwaitEnds":                    TestAnAwaitEndsWithItsCallerAndItsServer,
		"Configure":                    TestAQueueIsConfigured,
		"Figures":                      TestAQueuesFigures,
		"QueueLists":                   TestQueuesAreListedInPages,
		"ListedAges":                   TestListedAgesAreRead,
		"PauseAndPurge":                TestAQueueIsPausedAndPurged,
		"PausedQueues":                 TestAnEmptyClaimNamesPausedQueues,
		"Status":                       TestTheServersStatus,
		"Backup":                       TestABackupIsMade,
		"BadAdminCalls":                TestBadAdminCalls,
		"NotThere":                     TestAdminCallsOnWhatIsNotThere,
		"TaskLists":                    TestTasksAreListedByState,
		"Cancel":                       TestTasksAreCancelled,
		"DeadHistory":                  TestDeadTasksTellTheirHistory,
		"RedriveAndPurge":              TestDeadTasksAreRedrivenAndPurged,
		"IDsAndSettlementsOfAllShards": testIDsAndSettlementsOfAllShards,
		"LargeClaims":                  testLargeClaimsOfAllShards,
	} {
		t.Run(name, test)
	}
}

func testIDsAndSettlementsOfAllShards(t *testing.T) {
	s := serve(t, nil)
	shards := map[uint16]bool{}
	var ids []string
	for range 6 {
		ids = append(ids, s.enqueue(newTasks("q", 2)...)...)
	}
	for _, text := range ids {
		id, err := queue.ParseID(text)
		require.NoError(t, err)
		shards[id.Shard] = true
		assert.Equal(t, queuepb.TaskState_TASK_STATE_READY, s.look(text).GetState())
		assert.Equal(t, text, s.look(text).GetId())
	}
	assert.Len(t, shards, 3)
	w := s.work(12, "q")
	tasks := w.take(12)
	in := &queuepb.CompleteRequest{}
	for _, task := range tasks[:6] {
		in.Completions = append(in.Completions, &queuepb.Completion{Id: task.GetId(), Token: task.GetToken()})
	}
	in.Completions[2].Token++
	out, err := s.Complete(s.ctx, in)
	require.NoError(t, err)
	for i, r := range out.GetResults() {
		if i == 2 {
			requireItemError(t, r.GetError(), codeStale, "")
		} else {
			assert.Nil(t, r.GetError())
		}
	}
	frame := &queuepb.WorkRequest{Frame: 1}
	for _, task := range tasks[6:] {
		frame.Settlements = append(frame.Settlements, completion(task))
	}
	frame.Settlements[4].Id = otherShardID
	w.send(frame)
	a := w.answer()
	require.Len(t, a.GetErrors(), 1)
	requireItemError(t, a.GetErrors()[0], codeNotFound, "")
	assert.EqualValues(t, 4, a.GetErrors()[0].GetIndex())
	require.NoError(t, w.CloseSend())
	require.NoError(t, w.end())
	assert.Contains(t, s.admin("/audit"), `"enqueued":12,"completed":10,"ready":0,"leased":2,"delayed":0,"dead":0,"stored":2`)
}

// Tasks that do not fit into a claim's answer are returned to their shards.
func testLargeClaimsOfAllShards(t *testing.T) {
	s := serve(t, nil)
	const calls, n = 3, 6
	for range calls {
		var tasks []*queuepb.NewTask
		for range n {
			tasks = append(tasks, &queuepb.NewTask{Queue: "q", MaxAttempts: 1, Payload: bytes.Repeat([]byte{'x'}, 1<<20)})
		}
		s.enqueue(tasks...)
	}
	for got := 0; got < calls*n; {
		out, err := s.Claim(s.ctx, &queuepb.ClaimRequest{Queues: []string{"q"}, MaxTasks: n, WaitMs: 10_000})
		require.NoError(t, err)
		require.NotEmpty(t, out.GetTasks())
		for _, task := range out.GetTasks() {
			require.Nil(t, s.complete(task))
			got++
		}
	}
}
