package profile

import (
	"bytes"
	"compress/gzip"
	"hash/crc32"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
)

// stack is one sample: its functions, innermost first, and its values.
type stack struct {
	functions []string
	values    []int64
}

// build creates a profile. A function has the same address in all profiles, like in snapshots of
// one process.
func build(types []*profile.ValueType, stacks ...stack) *profile.Profile {
	p := &profile.Profile{SampleType: types, PeriodType: &profile.ValueType{Type: "contentions", Unit: "count"}, Period: 1}
	locations := map[string]*profile.Location{}
	for _, s := range stacks {
		sample := &profile.Sample{Value: s.values}
		for _, name := range s.functions {
			l := locations[name]
			if l == nil {
				id := uint64(len(locations) + 1)
				f := &profile.Function{ID: id, Name: name}
				l = &profile.Location{ID: id, Address: uint64(crc32.ChecksumIEEE([]byte(name))), Line: []profile.Line{{Function: f, Line: 1}}}
				locations[name] = l
				p.Function = append(p.Function, f)
				p.Location = append(p.Location, l)
			}
			sample.Location = append(sample.Location, l)
		}
		p.Sample = append(p.Sample, sample)
	}
	return p
}

func delayTypes() []*profile.ValueType {
	return []*profile.ValueType{{Type: "contentions", Unit: "count"}, {Type: "delay", Unit: "nanoseconds"}}
}

func kindOf(t *testing.T, name string) kind {
	t.Helper()
	for _, k := range kinds {
		if k.name == name {
			return k
		}
	}
	t.Fatalf("no kind %q", name)
	return kind{}
}

func TestSubtractKeepsWhatGrew(t *testing.T) {
	at := time.Unix(100, 0)
	before := build(
		delayTypes(),
		stack{[]string{"same", "main"}, []int64{1, 100}},
		stack{[]string{"grown", "main"}, []int64{2, 200}},
		stack{[]string{"shrunk", "main"}, []int64{5, 500}},
		stack{[]string{"fewer", "main"}, []int64{5, 100}},
		stack{[]string{"gone", "main"}, []int64{1, 10}},
	)
	after := build(
		delayTypes(),
		stack{[]string{"fresh", "main"}, []int64{1, 7}},
		stack{[]string{"shrunk", "main"}, []int64{6, 400}},
		stack{[]string{"fewer", "main"}, []int64{4, 101}},
		stack{[]string{"grown", "main"}, []int64{3, 250}},
		stack{[]string{"same", "main"}, []int64{1, 100}},
	)
	difference, err := subtract(before, after, Span{From: Mark{At: at}, To: Mark{At: at.Add(3 * time.Second)}}, kindOf(t, "mutex"))
	require.NoError(t, err)
	got := map[string][]int64{}
	for _, s := range difference.Sample {
		got[frames(s)[0]] = s.Value
	}
	assert.Equal(t, map[string][]int64{"fresh": {1, 7}, "grown": {1, 50}, "fewer": {0, 1}}, got)
	assert.Len(t, difference.Function, 4, "functions of dropped samples are dropped")
	assert.Equal(t, at.UnixNano(), difference.TimeNanos)
	assert.Equal(t, (3 * time.Second).Nanoseconds(), difference.DurationNanos)
	assert.Equal(t, int64(200), before.Sample[1].Value[1], "the snapshots are not modified")
}

func TestSubtractOfEmptyProfiles(t *testing.T) {
	empty := build(delayTypes())
	difference, err := subtract(empty, empty, Span{}, kindOf(t, "block"))
	require.NoError(t, err)
	assert.Empty(t, difference.Sample)
	summary, err := summarise(difference, kindOf(t, "block"))
	require.NoError(t, err)
	assert.Zero(t, summary.Total)
	assert.Empty(t, summary.Top)
	assert.NotNil(t, summary.Top, "an empty list in JSON, not null")
}

func TestSubtractNeedsTheValue(t *testing.T) {
	p := build(delayTypes())
	_, err := subtract(p, p, Span{}, kindOf(t, "allocs"))
	golden.Cases(t, "testdata/subtract.golden").Error(t, "no values", err)
}

func pack(t *testing.T, data []byte) []byte {
	t.Helper()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := w.Write(data)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return packed.Bytes()
}

func TestParseRefusesWhatIsNotAProfile(t *testing.T) {
	s := golden.Cases(t, "testdata/notprofiles.golden")
	for name, body := range map[string][]byte{
		"a page": []byte("<html>"),
		"empty":  pack(t, nil),
		"large":  pack(t, make([]byte, 1000)),
	} {
		_, err := parse(body, 10)
		s.Error(t, name, err)
	}
	_, err := parse(pack(t, []byte("text, not a protocol buffer")), 1000)
	require.Error(t, err)
}
