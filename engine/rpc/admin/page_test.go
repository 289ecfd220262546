package admin

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/rpc/call"
	"github.com/pronybench/prony/engine/shard"
	"github.com/pronybench/prony/engine/storage"
)

// A token has the position in its list. A modified token, or one of another list, is refused.
func TestPageTokens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfN(rapid.StringMatching(`[a-z/]{0,9}`), 2, 2)
		mine, other := names.Draw(t, "list"), names.Draw(t, "other list")
		place := shard.ListPlace{
			Shard: rapid.IntRange(0, shard.ShardsMax-1).Draw(t, "shard"),
			After: storage.Place(rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "place")),
		}
		token := call.PageToken(call.ListName(mine...), taskPlace(&place))
		at, err := call.ParsePageToken(call.ListName(mine...), token)
		require.NoError(t, err)
		got := parseTaskPlace(at)
		require.Equal(t, place.Shard, got.Shard)
		require.Equal(t, string(place.After), string(got.After))
		if mine[0] != other[0] || mine[1] != other[1] {
			_, err = call.ParsePageToken(call.ListName(other...), token)
			require.ErrorIs(t, err, call.ErrPageToken)
		}
		broken := []byte(token)
		i := rapid.IntRange(0, len(broken)-1).Draw(t, "broken")
		if broken[i] = "AB"[0]; string(broken) != token {
			_, err = call.ParsePageToken(call.ListName(mine...), string(broken))
			require.ErrorIs(t, err, call.ErrPageToken)
		}
		_, err = call.ParsePageToken(call.ListName(mine...), token[:i])
		if i > 0 {
			require.ErrorIs(t, err, call.ErrPageToken)
		}
		want := queue.Name{Tenant: mine[0], Queue: mine[1]}
		gotName, err := parseQueuePlace(queuePlace(want))
		require.NoError(t, err)
		require.Equal(t, want, *gotName)
	})
}

func FuzzPageToken(f *testing.F) {
	list := call.ListName("tasks", "t", "q", "1")
	f.Add(call.PageToken(list, taskPlace(&shard.ListPlace{Shard: 3, After: storage.Place("x")})))
	f.Add("")
	f.Add("AQ")
	f.Fuzz(func(t *testing.T, token string) {
		at, err := call.ParsePageToken(list, token)
		if err != nil {
			require.ErrorIs(t, err, call.ErrPageToken)
			return
		}
		parseTaskPlace(at)
		_, _ = parseQueuePlace(at)
	})
}

// Older servers stored all attempts of a task. Such a history is cut to fit on a page.
func TestLongHistoriesAreCut(t *testing.T) {
	f := &shard.Found{State: shard.Dead}
	long := strings.Repeat("ä", 2<<10)
	for n := range uint32(1_000) {
		f.Attempts = append(f.Attempts, storage.NumberedAttempt{Number: n + 1, Attempt: queue.Attempt{Outcome: queue.Failed, Error: long}})
	}
	attempts := deadTask("t", queue.ID{}, f).GetAttempts()
	require.Len(t, attempts, 1_000)
	for i, a := range attempts {
		require.EqualValues(t, i+1, a.GetAttempt())
		require.GreaterOrEqual(t, len(a.GetError()), 500)
		require.Equal(t, "ää", a.GetError()[:4])
		require.True(t, strings.HasSuffix(a.GetError(), "…"))
		require.True(t, utf8.ValidString(a.GetError()))
	}
}
