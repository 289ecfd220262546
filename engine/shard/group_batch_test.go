package shard

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// partFate is the outcome of one shard's part of a call.
type partFate int

const (
	partAnswered partFate = iota
	partNotSent           // the shard refuses the part
	partNotLed            // another node leads the shard
	partLost              // the node lost the leadership before the shard answered
	partUnknown
)

// Every item of a call over several shards gets the answer of its shard for that item, in any order
// of the shards' answers.
func TestScatteredAnswersAreOfTheirItems(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const count = 4
		fate := rapid.SampledFrom([]partFate{partAnswered, partAnswered, partAnswered, partNotSent, partNotLed, partLost, partUnknown})
		// count is not a shard
		each := rapid.SliceOfN(rapid.Uint16Range(0, count), 1, 12).Draw(t, "shards of the items")
		fates := rapid.SliceOfN(fate, count, count).Draw(t, "fates")
		items := make([]int, len(each))
		for i := range items {
			items[i] = i
		}
		shards := make([]*Shard, count)
		for n := range shards {
			if fates[n] != partNotLed {
				shards[n] = &Shard{}
			}
		}
		numbers := map[*Shard]int{}
		for n, s := range shards {
			numbers[s] = n
		}
		var pending []func()
		type outcome struct {
			shard, item int
			refused     error
		}
		var got []outcome
		replies := 0
		err := scatter(shards, split(items, each, count), func(out []outcome, err error) {
			require.NoError(t, err)
			replies++
			got = out
		}, func(s *Shard, part []int, reply func([]outcome, error)) error {
			n := numbers[s]
			switch fates[n] {
			case partNotSent:
				return ErrOverloaded
			case partLost:
				pending = append(pending, func() { reply(nil, ErrNotLeader) })
			case partUnknown:
				pending = append(pending, func() { reply(nil, ErrUnknownOutcome) })
			default:
				out := make([]outcome, len(part))
				for k, item := range part {
					out[k] = outcome{shard: n, item: item}
				}
				pending = append(pending, func() { reply(out, nil) })
			}
			return nil
		}, func(n int, answer outcome, refused error) outcome {
			if refused != nil {
				return outcome{shard: n, item: -1, refused: refused}
			}
			require.Equal(t, n, answer.shard)
			return answer
		})
		for len(pending) > 0 {
			i := rapid.IntRange(0, len(pending)-1).Draw(t, "answers")
			answer := pending[i]
			pending = append(pending[:i], pending[i+1:]...)
			answer()
		}
		if err != nil { // all items are refused
			require.Zero(t, replies)
			for i := range items {
				require.Less(t, int(each[i]), count)
				require.Contains(t, []partFate{partNotSent, partNotLed}, fates[each[i]])
			}
			return
		}
		require.Equal(t, 1, replies)
		require.Len(t, got, len(items))
		for i, o := range got {
			require.Equal(t, int(each[i]), o.shard, "item %d", i)
			want := ErrNotFound
			if o.shard < count {
				want = []error{nil, ErrOverloaded, ErrNotLeader, ErrNotLeader, ErrUnknownOutcome}[fates[o.shard]]
			}
			if want == nil {
				require.Equal(t, outcome{shard: o.shard, item: i}, o)
				continue
			}
			require.True(t, errors.Is(o.refused, want), "item %d: %v", i, o.refused)
		}
	})
}
