package options

import (
	"testing"
	"time"

	"github.com/grafana/sobek"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
)

type read struct {
	text    string
	flag    bool
	number  int64
	rate    float64
	length  time.Duration
	texts   []string
	numbers []int64
	inner   *read
}

var inner = Table[read]{"ca": func(r *read, v Value) (err error) { r.text, err = v.Text(); return err }}

var table = Table[read]{
	"address": func(r *read, v Value) (err error) { r.text, err = v.Text(); return err },
	"ledger":  func(r *read, v Value) (err error) { r.flag, err = v.Bool(); return err },
	"batch":   func(r *read, v Value) (err error) { r.number, err = v.Int(1, 1000); return err },
	"rate":    func(r *read, v Value) (err error) { r.rate, err = v.Number(1e6); return err },
	"timeout": func(r *read, v Value) (err error) {
		r.length, err = v.Duration(time.Millisecond, time.Hour)
		return err
	},
	"queues":  func(r *read, v Value) (err error) { r.texts, err = v.Texts(3); return err },
	"weights": func(r *read, v Value) (err error) { r.numbers, err = v.Ints(3, 1, 100); return err },
	"tls":     func(r *read, v Value) (err error) { r.inner = &read{}; return inner.ReadField(v, r.inner) },
}

func readScript(t *testing.T, script string) (read, error) {
	rt := sobek.New()
	value, err := rt.RunString("(" + script + ")")
	require.NoError(t, err)
	var into read
	return into, table.Read(rt, "connect", value, &into)
}

func TestFieldsAreRead(t *testing.T) {
	rt := sobek.New()
	value, err := rt.RunString(`({address: "a:1", ledger: true, batch: 16, rate: 2.5, timeout: "1m30s", queues: ["a", "b"], weights: [1, 2], tls: {ca: "pem"}})`)
	require.NoError(t, err)
	var got read
	require.NoError(t, table.Read(rt, "connect", value, &got))
	assert.Equal(t, read{
		text: "a:1", flag: true, number: 16, rate: 2.5, length: 90 * time.Second,
		texts: []string{"a", "b"}, numbers: []int64{1, 2}, inner: &read{text: "pem"},
	}, got)
	for script, want := range map[string]time.Duration{"{timeout: 250}": 250 * time.Millisecond, "{timeout: 0.5e3}": 500 * time.Millisecond, "{timeout: '2s'}": 2 * time.Second} {
		value, err := rt.RunString("(" + script + ")")
		require.NoError(t, err)
		require.NoError(t, table.Read(rt, "connect", value, &got))
		assert.Equal(t, want, got.length, script)
	}
}

func TestWhatIsAbsentChangesNothing(t *testing.T) {
	got := read{text: "before"}
	require.NoError(t, table.Read(sobek.New(), "connect", sobek.Undefined(), &got))
	require.NoError(t, table.Read(sobek.New(), "connect", nil, &got))
	rt := sobek.New()
	value, err := rt.RunString("({address: undefined, tls: null})")
	require.NoError(t, err)
	require.NoError(t, table.Read(rt, "connect", value, &got))
	assert.Equal(t, read{text: "before"}, got)
}

func TestEachMistakeNamesCallFieldAndRemedy(t *testing.T) {
	texts := golden.Cases(t, "testdata/mistakes.golden")
	cases := []string{
		`{addrss: "a"}`,
		`{colour: "a"}`,
		`{address: 7}`,
		`{address: ""}`,
		`{ledger: 1}`,
		`{batch: 1.5}`,
		`{batch: 1001}`,
		`{batch: NaN}`,
		`{batch: "16"}`,
		`{rate: 0}`,
		`{rate: Infinity}`,
		`{timeout: "soon"}`,
		`{timeout: -1}`,
		`{timeout: 1e300}`,
		`{timeout: "2h"}`,
		`{queues: "a"}`,
		`{queues: []}`,
		`{queues: [1,2,3,4]}`,
		`{queues: ["a", 2]}`,
		`{weights: [0]}`,
		`{weights: [,1]}`,
		`{tls: {cb: "x"}}`,
		`{tls: 3}`,
		`"a:1"`,
		`["a"]`,
		`{address: {a: 1}}`,
		`{batch: "x".repeat(99)}`,
	}
	for _, script := range cases {
		_, err := readScript(t, script)
		var fault *Error
		require.ErrorAs(t, err, &fault, script)
		texts.Error(t, script, err)
	}
}
