package peer

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// FuzzFrames gives any bytes to what reads handshakes: none make it panic or read more than a frame, and what it accepts is
// what its own writer makes.
func FuzzFrames(f *testing.F) {
	for _, seed := range []frame{
		hello{flags: flagSecret, place: place{purpose: forGroup, group: 7}, from: "n1", to: "n2"}.frame(),
		hello{place: place{purpose: forCalls}, from: "n1"}.frame(),
		challenge{flags: flagSecret, node: "n2"}.frame(),
		makeFrame(kindProof, make([]byte, proofLen)),
		verdict{code: accepted}.frame(),
		verdict{code: CodeNode, reason: "this is n2"}.frame(),
	} {
		f.Add(seed.raw)
	}
	f.Add([]byte("GET / HTTP/1.1\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bytes.NewReader(b)
		got, err := readFrame(r)
		if err != nil {
			return
		}
		require.LessOrEqual(t, len(got.raw), headerLen+bodyMax)
		require.Equal(t, len(b)-r.Len(), len(got.raw))
		require.Equal(t, b[:len(got.raw)], got.raw)
		if h, err := parseHello(got); err == nil && got.version == version {
			require.Equal(t, got.raw, h.frame().raw)
		}
		if c, err := parseChallenge(got); err == nil {
			require.Equal(t, got.raw, c.frame().raw)
		}
		if p, err := parseProof(got); err == nil {
			require.Equal(t, got.raw, makeFrame(kindProof, p[:]).raw)
		}
		if v, err := parseVerdict(got); err == nil {
			require.Equal(t, got.body, v.frame().body)
		}
	})
}

// TestProofsDifferWithAllThatTheyAreAbout changes one thing at a time.
func TestProofsDifferWithAllThatTheyAreAbout(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		node := rapid.StringMatching("[a-z0-9-]{1,32}")
		first := hello{
			flags: flagSecret, place: place{purpose: forGroup, group: rapid.Uint16().Draw(t, "group")}, nonce: newNonce(),
			from: node.Draw(t, "from"), to: node.Draw(t, "to"),
		}
		second := challenge{flags: flagSecret, nonce: newNonce(), node: node.Draw(t, "node")}
		proofs := func(h hello, c challenge, binding []byte, secret string) (out []proof) {
			said := transcript(h.frame(), c.frame(), binding)
			return []proof{prove([]byte(secret), labelDialer, said, ""), verdict{code: accepted}.prove([]byte(secret), said)}
		}
		all := proofs(first, second, nil, "a")
		all = append(all, proofs(first, second, []byte{1}, "a")...)
		all = append(all, proofs(first, second, nil, "b")...)
		for _, change := range []func(h *hello, c *challenge){
			func(h *hello, _ *challenge) { h.place.group++ },
			func(h *hello, _ *challenge) { h.place.purpose = forCalls },
			func(h *hello, _ *challenge) { h.nonce[31]++ },
			func(h *hello, _ *challenge) { h.instance[0]++ },
			func(h *hello, _ *challenge) { h.from += "x" },
			func(h *hello, _ *challenge) { h.to += "x" },
			func(h *hello, _ *challenge) { h.from, h.to = h.from+h.to, "" },
			func(h *hello, _ *challenge) { h.flags = 0 },
			func(_ *hello, c *challenge) { c.nonce[0]++ },
			func(_ *hello, c *challenge) { c.instance[0]++ },
			func(_ *hello, c *challenge) { c.node += "x" },
			func(_ *hello, c *challenge) { c.flags = 0 },
		} {
			h, c := first, second
			change(&h, &c)
			all = append(all, proofs(h, c, nil, "a")...)
		}
		said := transcript(first.frame(), second.frame(), nil)
		all = append(all, prove([]byte("a"), labelDialer, said, "x"), prove([]byte("a"), labelListener, said, "x"))
		for _, v := range []verdict{{code: CodeNode}, {code: CodeNode, reason: "x"}, {code: accepted, reason: "x"}} {
			all = append(all, v.prove([]byte("a"), said))
		}
		seen := map[proof]int{}
		for i, p := range all {
			before, twice := seen[p]
			require.Falsef(t, twice, "%d and %d", before, i)
			seen[p] = i
		}
	})
}

func TestNoncesDiffer(t *testing.T) {
	seen := map[nonce]bool{}
	for range 100 {
		n := newNonce()
		assert.False(t, seen[n])
		seen[n] = true
	}
}
