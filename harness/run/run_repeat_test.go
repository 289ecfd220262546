package run

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/profile"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// unauditedAtStarts is a server that does not answer audits at the starts with these numbers,
// counted from 1, so that their rounds are invalid. At all other starts it is the real server.
func unauditedAtStarts(t *testing.T, starts string) server {
	t.Helper()
	executable, err := os.Executable()
	require.NoError(t, err)
	return script(t,
		`case "$(wc -l <"$(dirname "$0")/pids" | tr -d ' ')" in`,
		fmt.Sprintf(`%s) exec env '%s=%s' '%s' "$@" ;;`, starts, actEnv, faultNoAudit, executable),
		`esac`,
		fmt.Sprintf(`exec '%s' "$@"`, queued))
}

func ofRounds(rounds int) *scenario.Scenario {
	s := small()
	s.Rounds = rounds
	return s
}

func TestAnInvalidRoundIsMeasuredOnceMore(t *testing.T) {
	t.Parallel()
	e := executeAs(t, ofRounds(2), unauditedAtStarts(t, "1"), Options{RepeatInvalid: true})
	r := e.result
	require.Equal(t, result.Pass, r.Verdict, "%v", r.Reasons)
	assert.Len(t, e.server.started(t), 3)
	require.Len(t, r.Rounds, 2)
	require.Len(t, r.Repeated, 1)
	first := r.Repeated[0]
	assert.Equal(t, []int{1, 2, 1}, []int{r.Rounds[0].Number, r.Rounds[1].Number, first.Number})
	assert.Equal(t, result.Invalid, first.Verdict)
	assert.NotZero(t, first.Metrics[result.CyclesPerS], "its figures stay in the result")
	assert.True(t, r.Rounds[0].Started.After(r.Rounds[1].Started), "after all others")
	assert.Equal(t, 2, r.Metrics[result.CyclesPerS].N)
	assert.Equal(t, 2, r.Metrics[result.Lost].N)
	require.NotEmpty(t, r.Warnings)
	assert.Contains(t, r.Warnings, "round 1: it was repeated once at the end of the run, because it was invalid: "+first.Reasons[0])
	assert.Contains(t, e.shown.String(), "small: repeating invalid rounds: 1 round\n")
	stored, histograms, err := result.Read(e.folder)
	require.NoError(t, err)
	assert.Len(t, stored.Repeated, 1)
	assert.Len(t, histograms, 2)
}

func TestARoundThatIsInvalidAgainIsMeasuredASecondTime(t *testing.T) {
	t.Parallel()
	e := executeAs(t, ofRounds(5), unauditedAtStarts(t, "1|6"), Options{RepeatInvalid: true})
	r := e.result
	require.Equal(t, result.Pass, r.Verdict, "%v", r.Reasons)
	assert.Len(t, e.server.started(t), 7)
	require.Len(t, r.Rounds, 5)
	require.Len(t, r.Repeated, 2, "a quarter of five, rounded up")
	assert.Equal(t, []int{1, 1}, []int{r.Repeated[0].Number, r.Repeated[1].Number})
	assert.Contains(t, r.Warnings, "round 1: it was repeated twice at the end of the run, because it was invalid: "+
		r.Repeated[0].Reasons[0]+"; and then: "+r.Repeated[1].Reasons[0])
}

func TestARoundIsMeasuredAgainTwiceAtMost(t *testing.T) {
	t.Parallel()
	e := executeAs(t, ofRounds(9), unauditedAtStarts(t, "1|10|11"), Options{RepeatInvalid: true})
	assert.Equal(t, result.Invalid, e.result.Verdict)
	assert.Len(t, e.server.started(t), 11, "two of the three repetitions allowed for nine rounds are used")
	assert.Len(t, e.result.Repeated, 2)
}

func TestTheLastFiguresOfARoundStand(t *testing.T) {
	t.Parallel()
	e := executeAs(t, ofRounds(1), unauditedAtStarts(t, "*"), Options{RepeatInvalid: true})
	assert.Equal(t, result.Invalid, e.result.Verdict)
	assert.Len(t, e.server.started(t), 2, "one repetition, whatever its figures are")
	assert.Len(t, e.result.Rounds, 1)
	assert.Len(t, e.result.Repeated, 1)
}

func TestAnUnfitHostIsNotMeasuredOnceMore(t *testing.T) {
	t.Parallel()
	e := executeAs(t, ofRounds(3), unauditedAtStarts(t, "1|2"), Options{RepeatInvalid: true})
	assert.Equal(t, result.Invalid, e.result.Verdict)
	assert.Len(t, e.server.started(t), 3, "two of three rounds exceed a quarter, rounded up")
	assert.Empty(t, e.result.Repeated)
}

func TestInvalidRoundsAreMeasuredOnceMoreOnlyWhereAsked(t *testing.T) {
	t.Parallel()
	e := execute(t, ofRounds(1), unauditedAtStarts(t, "1"))
	assert.Equal(t, result.Invalid, e.result.Verdict)
	assert.Empty(t, e.result.Repeated)
}

// Only timed rounds are repeated, because only they have figures.
func TestInvalidRoundsOfARun(t *testing.T) {
	t.Parallel()
	plan := []plannedRound{{1, 0, calibration}, {2, 0, timed}, {3, 0, timed}, {4, 0, profiled}}
	verdicts := func(all ...result.Verdict) *runner {
		s := small()
		s.Rounds = 2
		r := &runner{scenario: s}
		for i, v := range all {
			r.result.Rounds = append(r.result.Rounds, result.Round{Number: i + 1, Verdict: v})
		}
		return r
	}
	const pass, invalid = result.Pass, result.Invalid
	assert.Equal(t, plan[2:3], verdicts(invalid, pass, invalid, invalid).invalidRounds(plan, nil))
	assert.Equal(t, plan[1:3], verdicts(pass, invalid, invalid, pass).invalidRounds(plan, nil))
	assert.Empty(t, verdicts(pass, invalid, pass, pass).invalidRounds(plan, map[int]bool{0: true}), "the servers of the point failed")
	assert.Empty(t, verdicts(pass).invalidRounds(plan, nil), "rounds that were not measured")
	assert.Empty(t, verdicts(pass, result.Incorrect, result.Regressed, pass).invalidRounds(plan, nil))
}

func TestWhatIsSetAsideCountsNowhere(t *testing.T) {
	t.Parallel()
	r := &runner{
		histograms: []result.RoundHistograms{{Round: 1}, {Round: 11}},
		captured:   []profile.Captured{{Source: profile.Source{Round: 1}}, {Source: profile.Source{Round: 11}}},
		result: result.Result{
			Rounds:   []result.Round{{Number: 1, Reasons: []string{"a", "b"}}, {Number: 11}},
			Warnings: []string{"round 1: late", "round 11: late", "all is late"},
		},
	}
	r.setAside(1)
	assert.Equal(t, []result.Round{{Number: 11}}, r.result.Rounds)
	assert.Equal(t, []result.RoundHistograms{{Round: 11}}, r.histograms)
	assert.Equal(t, []profile.Captured{{Source: profile.Source{Round: 11}}}, r.captured)
	assert.Equal(t, []result.Round{{Number: 1, Reasons: []string{"a", "b"}}}, r.result.Repeated)
	assert.Equal(t, []string{
		"round 11: late", "all is late", "round 1: it was repeated once at the end of the run, because it was invalid: a; b",
	}, r.result.Warnings)
}
