package e2e

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// shapes returns the declarations of index.d.ts: for each interface the names of its members,
// including those of extended interfaces, and under "module" the exports of the module.
func shapes(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "harness", "k6", "index.d.ts"))
	require.NoError(t, err)
	var (
		comment = regexp.MustCompile(`(?s)/\*\*.*?\*/`)
		head    = regexp.MustCompile(`^export interface (\w+)(?: extends (\w+))? \{$`)
		member  = regexp.MustCompile(`^(?:readonly )?(\w+)\??[:(]`)
		export  = regexp.MustCompile(`^export function (\w+)\(`)
	)
	members, extends := map[string][]string{}, map[string]string{}
	in := ""
	for line := range strings.Lines(comment.ReplaceAllString(string(text), "")) {
		line = strings.TrimSpace(line)
		if found := head.FindStringSubmatch(line); found != nil {
			in, extends[found[1]] = found[1], found[2]
		} else if found := export.FindStringSubmatch(line); found != nil {
			members["module"] = append(members["module"], found[1])
		} else if line == "}" {
			in = ""
		} else if found := member.FindStringSubmatch(line); found != nil && in != "" {
			members[in] = append(members[in], found[1])
		}
	}
	for name, base := range extends {
		members[name] = append(members[name], members[base]...)
	}
	for _, names := range members {
		slices.Sort(names)
	}
	return members
}

// printed creates one of each kind of the module's objects and prints the names of its members.
const printed = `
import queue, * as named from 'k6/x/prony';
export const options = { iterations: 1, thresholds: { prony_failed_calls: ['count==0'] } };
const client = queue.connect();
const load = queue.load({ producers: 1, workers: 1, arrivals: { rate: 1000 }, window: '10s' });
function members(of) {
  const names = new Set();
  for (let at = of; at && at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    Object.getOwnPropertyNames(at).forEach((name) => names.add(name));
  }
  return [...names].filter((name) => name !== 'constructor').sort();
}
export default async function () {
  const due = await load.next(1);
  await client.produce({ queue: 'types', payload: 'x', due });
  const [task] = await client.claim({ queue: 'types', wait: '10s' });
  await client.complete(task);
  console.log('SHAPES' + JSON.stringify({
    module: members(queue), named: members(named).filter((name) => name !== 'default'),
    Client: members(client), Producer: members(client.producer()), Worker: members(client.worker({ queues: ['types'] })),
    Admin: members(client.admin), Task: members(task), Due: members(due), Load: members(load), Balance: members(queue.balance()),
  }));
}
`

// index.d.ts declares exactly the members of the module's objects.
func TestTypesAreThoseOfTheModule(t *testing.T) {
	t.Parallel()
	declared := shapes(t)
	declared["named"] = declared["module"]
	s := serve(t)
	o := start(t, s.environment(), script(t, "shapes.js", printed))()
	require.Zero(t, o.code)
	_, text, found := strings.Cut(o.printed, "SHAPES")
	require.True(t, found)
	text, _, _ = strings.Cut(text, "\n")
	var real map[string][]string
	require.NoError(t, json.Unmarshal([]byte(text), &real))
	require.NotEmpty(t, real)
	for _, name := range slices.Sorted(maps.Keys(real)) {
		assert.Equal(t, declared[name], real[name], name)
	}
}

// The module accepts each option that index.d.ts declares, and rejects others as unknown.
func TestOptionsAreThoseOfTheModule(t *testing.T) {
	t.Parallel()
	declared := shapes(t)
	calls := map[string]string{
		"ConnectOptions":    `queue.connect(OPTIONS)`,
		"TLSOptions":        `queue.connect({ tls: OPTIONS })`,
		"NewTask":           `await queue.connect().produce(OPTIONS)`,
		"UnaryClaimOptions": `await queue.connect().claim(OPTIONS)`,
		"ClaimOptions":      `await queue.connect().worker({ queues: ['q'] }).claim(OPTIONS)`,
		"WorkerOptions":     `queue.connect().worker(OPTIONS)`,
		"LoadOptions":       `queue.load(OPTIONS)`,
	}
	var text strings.Builder
	text.WriteString("import queue from 'k6/x/prony';\nexport const options = { iterations: 1 };\nexport default async function () {\n")
	for _, of := range slices.Sorted(maps.Keys(calls)) {
		require.NotEmpty(t, declared[of], of)
		for _, option := range append(slices.Clone(declared[of]), "nosuch"+of) {
			// A function is not a valid value of any option. The error for a known option is about
			// the value, not that the option does not exist.
			text.WriteString("  try { " + strings.ReplaceAll(calls[of], "OPTIONS", "{ "+option+": () => {} }") +
				"; } catch (e) { console.log(`OPTION " + of + " " + option + ": ${e.message.includes('there is no such option') ? 'unknown' : 'known'}`); }\n")
		}
	}
	text.WriteString("}\n")
	o := start(t, nil, script(t, "options.js", text.String()))()
	require.Zero(t, o.code)
	for of := range calls {
		for _, option := range declared[of] {
			assert.Contains(t, o.printed, "OPTION "+of+" "+option+": known\n")
		}
		assert.Contains(t, o.printed, "OPTION "+of+" nosuch"+of+": unknown\n")
	}
}
