package cluster

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/peerpb"
	"github.com/pronybench/prony/engine/rpc/route"
)

var (
	errRefused = status.Error(codes.Unavailable, `connection error: desc = "transport: Error while dialing: connection refused"`)
	errSilent  = status.Error(codes.DeadlineExceeded, "no answer")
)

// began is the start of the nodes in these tests.
var began = time.Date(2026, 11, 25, 17, 50, 0, 0, time.UTC)

// heard is a member's answer or failure at a time after began.
type heard struct {
	after time.Duration
	err   error
}

// linesOf returns the log lines about a member, without the time.
func linesOf(answers ...heard) []string {
	var out bytes.Buffer
	log := textLog(&out)
	p := newPresence(began)
	for _, h := range answers {
		if line := p.note(h.err, began.Add(h.after)); line != nil {
			line.write(log, "n2", h.err)
		}
	}
	return strings.Split(strings.TrimSpace(out.String()), "\n")
}

func TestOneLineWhenANodeGoesAndOneWhenItIsBack(t *testing.T) {
	for name, c := range map[string]struct {
		answers []heard
		want    []string
	}{
		"the process ends": {
			[]heard{{time.Second, nil}, {2 * time.Second, errRefused}, {3 * time.Second, errRefused}, {64 * time.Second, errRefused}, {65 * time.Second, nil}, {66 * time.Second, nil}},
			[]string{
				`level=WARN msg="a node does not answer" peer=n2 since=2026-11-25T17:50:01Z error="connection refused"`,
				`level=INFO msg="a node answers again" peer=n2 away=1m4s`,
			},
		},
		"a pause": {[]heard{{time.Second, nil}, {2 * time.Second, errSilent}, {4 * time.Second, errSilent}, {4500 * time.Millisecond, nil}}, []string{""}},
		"the host disappears": {
			[]heard{{time.Second, nil}, {3 * time.Second, errSilent}, {5 * time.Second, errSilent}, {7 * time.Second, errSilent}},
			[]string{`level=WARN msg="a node does not answer" peer=n2 since=2026-11-25T17:50:01Z error="no answer"`},
		},
		"a node that starts later": {[]heard{{0, errRefused}, {time.Second, errRefused}, {2 * time.Second, nil}}, []string{""}},
		"a node that never answered": {
			[]heard{{0, errRefused}, {time.Second, errRefused}, {4 * time.Second, errors.New("no address")}},
			[]string{`level=WARN msg="a node does not answer" peer=n2 since=2026-11-25T17:50:00Z error="no address"`},
		},
	} {
		assert.Equal(t, c.want, linesOf(c.answers...), name)
	}
}

// A flapping node does not fill the log: lines are omitted and counted, and the last line reports
// the node's current state.
func TestAFlappingNodeHasBoundedLines(t *testing.T) {
	answers := []heard{{0, nil}}
	for i := range 100 { // it goes and comes within each second, and is absent at the end
		at := time.Duration(i) * 100 * time.Millisecond
		answers = append(answers, heard{at, errRefused}, heard{at + 50*time.Millisecond, nil})
	}
	answers = append(answers, heard{20 * time.Second, errRefused}, heard{30 * time.Second, errRefused}, heard{2 * time.Minute, errRefused}, heard{3 * time.Minute, errRefused})
	lines := linesOf(answers...)
	assert.Len(t, lines, presenceLinesMax+1)
	last := lines[len(lines)-1]
	assert.Contains(t, last, "a node does not answer")
	assert.Contains(t, last, "lines_left_out_before=194", "6 of 201 changes are logged, and this is the last line")
}

// Without a majority of voters, the outage names the missing nodes, since when they are missing,
// and the remedy.
func TestAnOutageNamesTheMissingNodes(t *testing.T) {
	d := newDirectory()
	assert.Empty(t, d.outage("n1", began), "a node that waits to join knows no voters")
	addresses := map[string]string{"n1": "a:1", "n2": "b:1", "n3": "c:1"}
	voters := []string{"n1", "n2", "n3"}
	d.update(addresses, voters, began)
	answer := func(id string, err error, after time.Duration) {
		d.note(id, &peerpb.GetInfoResponse{}, err, began.Add(after))
	}
	answer("n1", nil, 0)
	answer("n2", nil, 5*time.Minute)
	assert.Empty(t, d.outage("n1", began.Add(5*time.Minute)), "two of three are there")
	answer("n2", errRefused, 6*time.Minute)
	answer("n3", errRefused, 6*time.Minute)
	assert.Equal(t, "1 of 3 nodes is there (n1); missing: n2 since 2026-11-25T17:55:00Z (2m13s), "+
		"n3 since 2026-11-25T17:50:00Z (7m13s, no answer since this node started). Reads and writes need 2 of 3. Start the missing nodes. "+
		"If they are lost for good, restore a backup. Never edit the peers to get a majority: that loses acknowledged tasks",
		d.outage("n1", began.Add(7*time.Minute+13*time.Second)))
	answer("n3", nil, 8*time.Minute)
	assert.Empty(t, d.outage("n1", began.Add(8*time.Minute)))
	// A nonvoter does not count; four voters need three.
	addresses["n4"], addresses["n5"] = "d:1", "e:1"
	d.update(addresses, append(voters, "n4"), began.Add(8*time.Minute))
	answer("n5", nil, 8*time.Minute)
	assert.Contains(t, d.outage("n1", began.Add(9*time.Minute)), "2 of 4 voting nodes are there (n1, n3); missing: n2 since 2026-11-25T17:55:00Z (4m0s), n4 since ")
	assert.Contains(t, d.outage("n1", began.Add(9*time.Minute)), "need 3 of 4")
}

func TestChangesOfTheMembersAreNamed(t *testing.T) {
	of := func(members ...route.Member) map[string]route.Member {
		all := map[string]route.Member{}
		for _, m := range members {
			all[m.Node] = m
		}
		return all
	}
	n1, n2 := route.Member{Node: "n1", PeerAddress: "a:1", Voter: true}, route.Member{Node: "n2", PeerAddress: "b:1"}
	votes, moved := n2, n2
	votes.Voter, moved.PeerAddress = true, "b:2"
	for _, c := range []struct {
		before, now map[string]route.Member
		want        string
	}{
		{of(), of(n1, n2), ""},
		{of(n1, n2), of(n1, n2), ""},
		{of(n1), of(n1, n2), "n2 a node became a member"},
		{of(n1, n2), of(n1, votes), "n2 a member received a vote"},
		{of(n1, votes), of(n1, n2), "n2 a member lost its vote"},
		{of(n1, n2), of(n1, moved), "n2 a member changed its address"},
		{of(n1, n2), of(n2), "n1 a node is no longer a member"},
	} {
		said := ""
		for _, change := range changesOf(c.before, c.now) {
			said += change.Node + " " + change.what
		}
		assert.Equal(t, c.want, said)
	}
}
