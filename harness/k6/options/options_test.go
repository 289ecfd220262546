package options

import (
	"testing"
	"time"

	"github.com/grafana/sobek"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
	cases := map[string]string{
		`{addrss: "a"}`:           "prony: connect: addrss: there is no such option; did you mean address?",
		`{colour: "a"}`:           "prony: connect: colour: there is no such option; there are address, batch, ledger, queues, rate, timeout, tls, weights",
		`{address: 7}`:            "prony: connect: address is 7: pass a string that is not empty",
		`{address: ""}`:           `prony: connect: address is "": pass a string that is not empty`,
		`{ledger: 1}`:             "prony: connect: ledger is 1: pass true or false",
		`{batch: 1.5}`:            "prony: connect: batch is 1.5: pass a whole number from 1 to 1000",
		`{batch: 1001}`:           "prony: connect: batch is 1001: pass a whole number from 1 to 1000",
		`{batch: NaN}`:            "prony: connect: batch is NaN: pass a whole number from 1 to 1000",
		`{batch: "16"}`:           `prony: connect: batch is "16": pass a whole number from 1 to 1000`,
		`{rate: 0}`:               "prony: connect: rate is 0: pass a number above 0 and up to 1e+06",
		`{rate: Infinity}`:        "prony: connect: rate is Infinity: pass a number above 0 and up to 1e+06",
		`{timeout: "soon"}`:       `prony: connect: timeout is "soon": pass milliseconds or a duration such as '1m30s', from 1ms to 1h0m0s`,
		`{timeout: -1}`:           "prony: connect: timeout is -1: pass milliseconds or a duration such as '1m30s', from 1ms to 1h0m0s",
		`{timeout: 1e300}`:        "prony: connect: timeout is 1e+300: pass milliseconds or a duration such as '1m30s', from 1ms to 1h0m0s",
		`{timeout: "2h"}`:         `prony: connect: timeout is "2h": pass milliseconds or a duration such as '1m30s', from 1ms to 1h0m0s`,
		`{queues: "a"}`:           `prony: connect: queues is "a": pass an array`,
		`{queues: []}`:            "prony: connect: queues: pass an array of 1 to 3",
		`{queues: [1,2,3,4]}`:     "prony: connect: queues is 1,2,3,4: pass an array of 1 to 3",
		`{queues: ["a", 2]}`:      "prony: connect: queues[1] is 2: pass a string that is not empty",
		`{weights: [0]}`:          "prony: connect: weights[0] is 0: pass a whole number from 1 to 100",
		`{weights: [,1]}`:         "prony: connect: weights[0] is undefined: pass a whole number from 1 to 100",
		`{tls: {cb: "x"}}`:        "prony: connect: tls.cb: there is no such option; did you mean ca?",
		`{tls: 3}`:                "prony: connect: tls is 3: pass an object with options, such as { ca: ... }",
		`"a:1"`:                   `prony: connect: the argument is "a:1": pass an object with options, such as { address: ... }`,
		`["a"]`:                   "prony: connect: the argument is a: pass an object with options, such as { address: ... }",
		`{address: {a: 1}}`:       "prony: connect: address is [object Object]: pass a string that is not empty",
		`{batch: "x".repeat(99)}`: `prony: connect: batch is "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...: pass a whole number from 1 to 1000`,
	}
	for script, want := range cases {
		_, err := readScript(t, script)
		var fault *Error
		require.ErrorAs(t, err, &fault, script)
		assert.EqualError(t, err, want, script)
	}
}
