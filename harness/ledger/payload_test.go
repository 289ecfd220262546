package ledger

import (
	"encoding/hex"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func drawIdentity(t *rapid.T) Identity {
	return Identity{
		Round:      rapid.Uint64().Draw(t, "round"),
		Producer:   rapid.Uint32Range(0, MaxProducers-1).Draw(t, "producer"),
		Sequence:   rapid.Uint64Range(0, MaxSequences-1).Draw(t, "sequence"),
		IntendedNS: rapid.Int64Range(0, math.MaxInt64).Draw(t, "intended"),
	}
}

func drawName(t *rapid.T, label string) string {
	return rapid.StringMatching(`[a-z0-9]{0,20}`).Draw(t, label)
}

func TestOpenReturnsWhatWasSealed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := drawIdentity(t)
		tenant, queue := drawName(t, "tenant"), drawName(t, "queue")
		payload := rapid.SliceOfN(rapid.Byte(), HeaderSize, 300).Draw(t, "old content")

		Seal(payload, id, NewAddress(tenant, queue))
		got, err := Open(payload, NewAddress(tenant, queue))
		require.NoError(t, err)
		require.Equal(t, id, got)

		again := make([]byte, len(payload))
		Seal(again, id, NewAddress(tenant, queue))
		require.Equal(t, again, payload, "the payload depends only on the identity and the route")
	})
}

func TestOpenFindsAnyChangedWord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		payload := make([]byte, rapid.IntRange(HeaderSize, 200).Draw(t, "size"))
		Seal(payload, drawIdentity(t), NewAddress("t0", "q0"))
		at := rapid.IntRange(0, len(payload)-1).Draw(t, "at") &^ 7
		change := rapid.SliceOfN(rapid.Byte(), 1, min(8, len(payload)-at)).Draw(t, "change")
		changed := false
		for i, x := range change {
			payload[at+i] ^= x
			changed = changed || x != 0
		}
		_, err := Open(payload, NewAddress("t0", "q0"))
		if changed {
			require.Error(t, err)
		} else {
			require.NoError(t, err)
		}
	})
}

func TestOpenFindsAnyFlippedBitOfEveryByte(t *testing.T) {
	for _, size := range []int{HeaderSize, 33, 40, 64, 71, 256} {
		payload := make([]byte, size)
		Seal(payload, Identity{Round: 7, Producer: 3, Sequence: 99, IntendedNS: 12345}, NewAddress("t0", "q0"))
		for bit := range size * 8 {
			payload[bit/8] ^= 1 << (bit % 8)
			_, err := Open(payload, NewAddress("t0", "q0"))
			require.Error(t, err, "size %d bit %d", size, bit)
			payload[bit/8] ^= 1 << (bit % 8)
		}
	}
}

func TestOpenFindsAChangedLength(t *testing.T) {
	payload := make([]byte, 100)
	Seal(payload, Identity{Round: 1}, NewAddress("t0", "q0"))
	for size := range 100 {
		_, err := Open(payload[:size], NewAddress("t0", "q0"))
		require.Error(t, err, "cut to %d", size)
		if size < HeaderSize {
			require.ErrorIs(t, err, ErrDamaged)
		}
	}
	_, err := Open(append(payload, 0), NewAddress("t0", "q0"))
	require.Error(t, err, "a byte added")
}

func TestOpenFindsAnotherRoute(t *testing.T) {
	payload := make([]byte, 64)
	Seal(payload, Identity{Round: 1}, NewAddress("t1", "q0"))
	for _, route := range []Route{{"t0", "q0"}, {"t1", "q1"}, {"t", "1q0"}, {"t1q", "0"}, {"q0", "t1"}, {"", "t1q0"}, {"t1", "q0\x00"}} {
		_, err := Open(payload, NewAddress(route.Tenant, route.Queue))
		assert.ErrorIs(t, err, ErrMisrouted, "%+v", route)
	}
}

func TestFillerDiffersFromTaskToTask(t *testing.T) {
	seen := make(map[string]bool)
	payload := make([]byte, 64)
	for sequence := range uint64(1000) {
		Seal(payload, Identity{Round: 1, Sequence: sequence}, NewAddress("t0", "q0"))
		seen[string(payload[HeaderSize:])] = true
	}
	assert.Len(t, seen, 1000)
}

// A payload sealed by one process must open in another process of another build.
func TestSealIsTheSameEverywhere(t *testing.T) {
	payload := make([]byte, 45)
	Seal(payload, Identity{Round: 0x0102030405060708, Producer: 5, Sequence: 6, IntendedNS: 7}, NewAddress("t0", "q0"))
	assert.Equal(t, "0807060504030201"+"0600000000050000"+"0700000000000000", hex.EncodeToString(payload[:24]))
	assert.Equal(t, "f3769108a4a0a8ff"+"805e16f600d9b3314d6547d048", hex.EncodeToString(payload[24:]))
}
