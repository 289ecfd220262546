package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// left returns a script that leaves tasks behind, with the given teardown.
func left(teardown string) string {
	return strings.NewReplacer("LIB", filepath.Join(root, "scenarios", "k6", "lib"), "TEARDOWN", teardown).Replace(`
import queue from 'k6/x/prony';
import { account, balanced, drain } from 'LIB/account.js';
import { own } from 'LIB/names.js';
export const options = { vus: 2, iterations: 2, thresholds: account };
const client = queue.connect();
const name = own('left');
export default async function () {
  await client.produce({ queue: name, size: 64, count: 700 });
}
export async function teardown() { TEARDOWN }
`)
}

func TestDrainCompletesWhatIsLeft(t *testing.T) {
	t.Parallel()
	s := serve(t)
	o := start(t, s.environment(), script(t, "drain.js", left("await drain(client, [name]); balanced();")))()
	o.balanced(t)
	assert.Equal(t, 1400.0, o.metrics["prony_cycles"].figures["count"])
}

func TestWhatIsLeftDoesNotBalance(t *testing.T) {
	t.Parallel()
	s := serve(t)
	o := start(t, s.environment(), script(t, "left.js", left("balanced();")))()
	assert.Equal(t, thresholdsCrossed, o.code)
	assert.True(t, o.metrics["checks"].thresholds["rate==1"])
	assert.Equal(t, 1400.0, o.metrics["prony_lost"].figures["count"])
}

// A drain ends although a claimed task never returns.
func TestADrainThatWaitsForNothingEnds(t *testing.T) {
	t.Parallel()
	s := serve(t)
	o := start(t, s.environment(), script(t, "held.js", left(`
  await client.claim({ queue: name, max: 5, lease: '1h' });
  const drained = await drain(client, [name], { quiet_ms: 600 });
  console.log('drained ' + drained);
  balanced();
`)))()
	assert.Equal(t, thresholdsCrossed, o.code)
	assert.Contains(t, o.printed, "drained 1395\n")
	require.Contains(t, o.metrics, "prony_lost")
	assert.Equal(t, 5.0, o.metrics["prony_lost"].figures["count"])
}

// Runs against the same server are independent: the second does not find the tasks that the first
// left behind.
func TestRunsDoNotMeet(t *testing.T) {
	t.Parallel()
	s := serve(t)
	text := left("")
	first := start(t, s.environment(), script(t, "first.js", text))()
	assert.Equal(t, 1400.0, first.metrics["prony_lost"].figures["count"])
	second := start(t, s.environment(), script(t, "second.js", left("await drain(client, [name]); balanced();")))()
	second.balanced(t)
}

// An interrupted test ends soon, with the exit code for it. The only fault in its ledger is that
// tasks are left.
func TestATestThatIsCutShort(t *testing.T) {
	t.Parallel()
	s := serve(t)
	text, err := os.ReadFile(filepath.Join(root, "scenarios", "k6", "throughput.js"))
	require.NoError(t, err)
	cut := strings.ReplaceAll(string(text), "'./lib/", "'"+filepath.Join(root, "scenarios", "k6", "lib")+"/") + `
import exec from 'k6/execution';
import { sleep } from 'k6';
options.scenarios.cut = { executor: 'per-vu-iterations', exec: 'cut', vus: 1, iterations: 1 };
export function cut() {
  while (queue.balance().completed < 2000) {
    sleep(0.01);
  }
  exec.test.abort('enough');
}
`
	o := start(t, append(s.environment(), "DURATION=1h"), script(t, "cut.js", cut))()
	assert.Equal(t, scriptAborted, o.code)
	assert.Contains(t, o.printed, "enough")
	assert.GreaterOrEqual(t, o.metrics["prony_cycles"].figures["count"], 2000.0)
	for _, fault := range []string{"prony_duplicated", "prony_corrupted", "prony_misrouted"} {
		require.Contains(t, o.metrics, fault)
		assert.False(t, o.metrics[fault].thresholds["count==0"], fault)
	}
}

// An invalid parameter is an error that names it.
func TestAKnobThatIsNone(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"RATE=many":   `RATE is "many"; it must be a number of at least 0`,
		"DURATION=10": `DURATION is "10"; it must be a duration with a unit: '10s', '1m30s'`,
	} {
		// Without a token, connect would ask any server at the default port.
		o := start(t, []string{"PRONY_TOKEN=unused"}, "-e", given, filepath.Join(root, "scenarios", "k6", "smoke.js"))()
		assert.Equal(t, scriptException, o.code)
		assert.Contains(t, o.printed, want)
	}
}
