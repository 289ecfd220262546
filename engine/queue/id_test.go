package queue

import (
	"encoding/base32"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func drawID(t *rapid.T) ID {
	return ID{
		Shard: rapid.Uint16().Draw(t, "shard"),
		Ref: Ref{
			Queue:    rapid.Uint32().Draw(t, "queue"),
			Priority: rapid.Uint8Range(0, MaxPriority).Draw(t, "priority"),
			Seq:      rapid.Uint64().Draw(t, "seq"),
		},
	}
}

func compareIDs(a, b ID) int {
	for _, pair := range [][2]uint64{
		{uint64(a.Shard), uint64(b.Shard)},
		{uint64(a.Queue), uint64(b.Queue)},
		{uint64(a.Priority), uint64(b.Priority)},
		{a.Seq, b.Seq},
	} {
		if pair[0] != pair[1] {
			return slices.Compare([]uint64{pair[0]}, []uint64{pair[1]})
		}
	}
	return 0
}

func TestIDComesBackFromItsText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := drawID(t)
		text := id.String()
		require.Len(t, text, IDLen)
		back, err := ParseID(text)
		require.NoError(t, err)
		require.Equal(t, id, back)
		require.Equal(t, "before "+text, string(id.AppendText([]byte("before "))))
	})
}

// TestTheTextIsBase32 compares the text with that of another implementation of its description.
func TestTheTextIsBase32(t *testing.T) {
	crockford := base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)
	rapid.Check(t, func(t *rapid.T) {
		id := drawID(t)
		raw := binary.BigEndian.AppendUint16(nil, id.Shard)
		raw = binary.BigEndian.AppendUint32(raw, id.Queue)
		raw = binary.BigEndian.AppendUint64(append(raw, id.Priority), id.Seq)
		require.Equal(t, crockford.EncodeToString(raw), id.String())
	})
}

// TestTextsOfSuccessiveIDs checks that IDTexts writes the same texts as ID.String.
func TestTextsOfSuccessiveIDs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var texts IDTexts
		id := drawID(t)
		for range 8 {
			switch rapid.IntRange(0, 3).Draw(t, "next") {
			case 0:
				id = drawID(t)
			case 1:
				id.Priority = (id.Priority + 1) % (MaxPriority + 1)
			case 2:
				id.Seq++
			}
			require.Equal(t, "before "+id.String(), string(texts.Append([]byte("before "), id)))
		}
	})
	var texts IDTexts
	require.Equal(t, ID{}.String(), string(texts.Append(nil, ID{})), "the first id is all zeros")
}

func TestIDTextSortsAsTheFieldsDo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawID(t), drawID(t)
		require.Equal(t, compareIDs(a, b), strings.Compare(a.String(), b.String()))
	})
}

func TestMalformedIDIsRefused(t *testing.T) {
	good := ID{Shard: 1, Ref: Ref{Queue: 2, Priority: 3, Seq: 4}}.String()
	for name, text := range map[string]string{
		"empty":               "",
		"short":               good[:IDLen-1],
		"long":                good + "0",
		"upper case":          strings.ToUpper(good[:IDLen-1]) + "A",
		"letter not in use":   "u" + good[1:],
		"space":               " " + good[1:],
		"line break":          "\n" + good[1:],
		"inner line break":    good[:8] + "\r\n" + good[10:],
		"not UTF-8":           "\xff" + good[1:],
		"padding":             good[:IDLen-1] + "=",
		"priority above most": ID{Ref: Ref{Priority: MaxPriority + 1}}.String(),
		"huge":                strings.Repeat("0", 1<<20),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseID(text)
			require.Error(t, err)
			assert.Less(t, len(err.Error()), 300, "the error must not repeat a huge input")
			assert.Contains(t, err.Error(), "pass an id as the server gave it")
		})
	}
}

// Every accepted text is the text of the id that it names, so no two texts name the same task.
func FuzzParseID(f *testing.F) {
	f.Add(ID{Shard: 1, Ref: Ref{Queue: 2, Priority: 3, Seq: 4}}.String())
	f.Add("0000000000000000000000\n\n")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		id, err := ParseID(text)
		if err == nil {
			require.Equal(t, text, id.String())
		}
	})
}
