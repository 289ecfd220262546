package peer

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// Arbitrary input does not make the parsers of the handshake panic or read more than one frame.
// Whatever they accept is re-encoded identically.
func FuzzFrames(f *testing.F) {
	for _, seed := range []frame{
		hello{place: place{purpose: forGroup, group: 7}, from: "n1", to: "n2"}.frame(),
		hello{place: place{purpose: forCalls}, from: "n1"}.frame(),
		verdict{code: accepted, node: "n2"}.frame(),
		verdict{code: CodeNode, node: "n2", reason: "this is n2"}.frame(),
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
		if v, err := parseVerdict(got); err == nil {
			require.Equal(t, got.body, v.frame().body)
		}
	})
}
