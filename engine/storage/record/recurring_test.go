package record

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/schedule"
)

func init() {
	records = append(records, record{
		name: "recurring",
		draw: func(t *rapid.T, e *Encoder) any {
			s := queue.RecurringSpec{
				Schedule: schedule.Spec{
					Cron: drawText.Draw(t, "cron"), EveryMs: rapid.Uint64().Draw(t, "interval"),
					Zone: drawText.Draw(t, "zone"), JitterMs: rapid.Uint64().Draw(t, "jitter"),
				},
				Missed: queue.Missed(rapid.Uint8().Draw(t, "missed")), MissedMax: rapid.Uint32().Draw(t, "missed max"), Overlap: queue.Overlap(rapid.Uint8().Draw(t, "overlap")),
				Template: queue.Template{
					Priority: rapid.Uint8Range(0, queue.MaxPriority).Draw(t, "priority"), MaxAttempts: rapid.Uint32().Draw(t, "attempts"),
					LeaseMs: rapid.Uint64().Draw(t, "lease"), TTLMs: rapid.Uint64().Draw(t, "ttl"), RetentionMs: rapid.Uint64().Draw(t, "retention"),
				},
			}
			if h := rapid.MapOfN(drawText, drawText, 0, 3).Draw(t, "headers"); len(h) > 0 {
				s.Template.Headers = h
			}
			if p := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "payload"); len(p) > 0 {
				s.Template.Payload = p
			}
			EncodeRecurring(e, &s)
			return s
		},
		read: func(b []byte) (any, error) { return DecodeRecurring(b) },
		open: true,
		header: func(b []byte) (int, error) {
			s, err := DecodeRecurring(b)
			return len(b) - len(s.Template.Payload), err
		},
	}, record{
		name: "progress of a recurring task",
		draw: func(t *rapid.T, e *Encoder) any {
			p := queue.RecurringProgress{
				AfterMs: drawMs.Draw(t, "after"), Last: drawRef(t), Paused: rapid.Bool().Draw(t, "paused"), Runs: rapid.Uint64().Draw(t, "runs"),
				Missed: rapid.Uint64().Draw(t, "missed"), Overlapped: rapid.Uint64().Draw(t, "overlapped"), Refused: rapid.Uint64().Draw(t, "refused"),
			}
			EncodeRecurringProgress(e, &p)
			return p
		},
		read: func(b []byte) (any, error) { return DecodeRecurringProgress(b) },
	})
}

func TestRecurringKeys(t *testing.T) {
	k := RecurringKey(PrefixRuns, 7, "name")
	id, name, err := ParseRecurringKey(k)
	require.NoError(t, err)
	require.Equal(t, uint32(7), id)
	require.Equal(t, "name", name)
	for _, bad := range [][]byte{k[:5], RecurringKey(PrefixRuns, 7, string(make([]byte, queue.NameMax+1)))} {
		_, _, err := ParseRecurringKey(bad)
		require.Error(t, err)
	}
}
