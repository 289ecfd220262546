package wire

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/queuepb"
)

func newMessage(name protoreflect.FullName) proto.Message {
	t, err := protoregistry.GlobalTypes.FindMessageByName(name)
	if err != nil {
		panic(err)
	}
	return t.New().Interface()
}

func newLike(m proto.Message) proto.Message { return m.ProtoReflect().New().Interface() }

func equal(t require.TestingT, want, got proto.Message) {
	if !proto.Equal(want, got) {
		require.Equal(t, fmt.Sprint(want), fmt.Sprint(got))
		require.Fail(t, "the messages differ in fields that are not printed")
	}
}

// TestAnyPeerUnderstandsTheCodec encodes with this codec and decodes with protobuf's package, and
// vice versa.
func TestAnyPeerUnderstandsTheCodec(t *testing.T) {
	for _, kind := range allMessages() {
		t.Run(string(kind.ProtoReflect().Descriptor().Name()), func(t *testing.T) {
			used := newLike(kind)
			rapid.Check(t, func(r *rapid.T) {
				want := newLike(kind)
				draw(r, want.ProtoReflect())

				out, err := Codec().Marshal(want)
				require.NoError(r, err)
				theirs := newLike(kind)
				require.NoError(r, proto.Unmarshal(out.Materialize(), theirs))
				out.Free()
				equal(r, want, theirs)

				b, err := proto.Marshal(want)
				require.NoError(r, err)
				data, overwrite := encoded(b, rapid.IntRange(1, 4).Draw(r, "pieces"))
				ours := newLike(kind)
				require.NoError(r, Codec().Unmarshal(data, ours))
				require.NoError(r, Codec().Unmarshal(data, used), "into a reused message")
				overwrite()
				equal(r, want, ours)
				equal(r, want, used)
			})
		})
	}
}

func TestOtherServicesMessagesGoTheGeneralWay(t *testing.T) {
	want := &healthpb.HealthCheckRequest{Service: "s"}
	out, err := Codec().Marshal(want)
	require.NoError(t, err)
	got := &healthpb.HealthCheckRequest{}
	require.NoError(t, Codec().Unmarshal(out, got))
	equal(t, want, got)
	assert.Equal(t, "proto", Codec().Name(), "the name is sent to the peer")
	_, err = Codec().Marshal("no message")
	require.Error(t, err)
	require.Error(t, Codec().Unmarshal(out, "no message"))
}

// TestUnknownFieldsAreKept compares with protobuf's package at each level of the message.
func TestUnknownFieldsAreKept(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		kind := rapid.SampledFrom(messages()).Draw(r, "kind")
		m := newLike(kind)
		draw(r, m.ProtoReflect())
		var levels []protoreflect.Message
		walk(m.ProtoReflect(), func(m protoreflect.Message) { levels = append(levels, m) })
		level := rapid.SampledFrom(levels).Draw(r, "level")
		number := rapid.SampledFrom([]protowire.Number{15, 18, 99, 1 << 20}).Draw(r, "number")
		if level.Descriptor().Fields().ByNumber(number) != nil {
			number = 18
		}
		unknown := protowire.AppendTag(nil, number, protowire.Fixed32Type)
		unknown = protowire.AppendFixed32(unknown, 7)
		if rapid.Bool().Draw(r, "text") {
			unknown = protowire.AppendTag(nil, number, protowire.BytesType)
			unknown = protowire.AppendString(unknown, "new")
		}
		level.SetUnknown(unknown)
		b, err := proto.Marshal(m)
		require.NoError(r, err)
		got := newLike(kind)
		require.NoError(r, decode(b, got))
		equal(r, m, got)

		// They do not remain in a message that is reused.
		plain, err := proto.Marshal(newLike(kind))
		require.NoError(r, err)
		require.NoError(r, decode(plain, got))
		equal(r, newLike(kind), got)
	})
}

func walk(m protoreflect.Message, visit func(protoreflect.Message)) {
	visit(m)
	m.Range(func(field protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case field.Message() == nil || field.IsMap():
		case field.IsList():
			for i := range v.List().Len() {
				walk(v.List().Get(i).Message(), visit)
			}
		default:
			walk(v.Message(), visit)
		}
		return true
	})
}

// same decodes b with the codec and with protobuf's package, and requires the same result.
func same(t require.TestingT, b []byte, kind proto.Message) {
	want, got := newLike(kind), newLike(kind)
	theirs, ours := proto.Unmarshal(b, want), decode(b, got)
	if theirs != nil {
		require.Error(t, ours)
		return
	}
	require.NoError(t, ours)
	equal(t, want, got)
}

// TestDamagedMessagesAreJudgedTheSame truncates messages and changes bytes in them.
func TestDamagedMessagesAreJudgedTheSame(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		kind := rapid.SampledFrom(messages()).Draw(r, "kind")
		m := newLike(kind)
		draw(r, m.ProtoReflect())
		b, err := proto.Marshal(m)
		require.NoError(r, err)
		if len(b) == 0 {
			return
		}
		if rapid.Bool().Draw(r, "cut") {
			b = b[:rapid.IntRange(0, len(b)-1).Draw(r, "length")]
		}
		for range rapid.IntRange(0, 3).Draw(r, "changes") {
			if len(b) > 0 {
				b[rapid.IntRange(0, len(b)-1).Draw(r, "place")] = rapid.Byte().Draw(r, "byte")
			}
		}
		same(r, b, kind)
	})
}

func FuzzDecode(f *testing.F) {
	for i, m := range full() {
		b, err := proto.Marshal(m)
		require.NoError(f, err)
		f.Add(uint(i), b)
	}
	f.Add(uint(0), []byte{0x1a, 0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Add(uint(2), bytes.Repeat([]byte{0x80}, 20))
	f.Fuzz(func(t *testing.T, kind uint, b []byte) {
		same(t, b, messages()[kind%uint(len(messages()))])
	})
}

func TestATextThatIsNotUTF8IsRefused(t *testing.T) {
	bad := "\xff"
	for _, m := range []proto.Message{
		&queuepb.ProduceRequest{Tenant: bad},
		&queuepb.ProduceRequest{Tasks: []*queuepb.NewTask{{Queue: bad}}},
		&queuepb.ProduceRequest{Tasks: []*queuepb.NewTask{{IdempotencyKey: bad}}},
		&queuepb.ProduceResponse{Answers: []*queuepb.EnqueueAnswer{{Ids: []string{bad}}}},
		&queuepb.ProduceResponse{Answers: []*queuepb.EnqueueAnswer{{Errors: []*queuepb.ItemError{{Message: bad}}}}},
		&queuepb.WorkRequest{Open: &queuepb.WorkOpen{Tenant: bad}},
		&queuepb.WorkRequest{Open: &queuepb.WorkOpen{Queues: []string{bad}}},
		&queuepb.WorkRequest{Settlements: []*queuepb.Settlement{{Id: bad}}},
		&queuepb.WorkRequest{Settlements: []*queuepb.Settlement{{Error: bad}}},
		&queuepb.WorkResponse{Tasks: []*queuepb.Task{{LastError: bad}}},
		&queuepb.WorkResponse{Answers: []*queuepb.SettleAnswer{{Errors: []*queuepb.ItemError{{Field: bad}}}}},
	} {
		vt, ok := m.(interface{ MarshalVT() ([]byte, error) })
		require.True(t, ok)
		b, err := vt.MarshalVT() // protobuf's package would refuse
		require.NoError(t, err)
		require.Error(t, decode(b, newLike(m)), "%v", m)
	}
}

// TestElementsDoNotShareWhatCanBeChanged appends to payloads and overwrites them.
func TestElementsDoNotShareWhatCanBeChanged(t *testing.T) {
	const n = 200
	in, out := &queuepb.ProduceRequest{}, &queuepb.WorkResponse{}
	for i := range n {
		payload := []byte(strings.Repeat(fmt.Sprint(i), 1+i%5*10))
		in.Tasks = append(in.Tasks, &queuepb.NewTask{Queue: fmt.Sprint("queue ", i), Payload: payload})
		out.Tasks = append(out.Tasks, &queuepb.Task{Id: fmt.Sprint("id ", i), Payload: payload, LastError: fmt.Sprint("error ", i)})
	}
	var gotIn queuepb.ProduceRequest
	var gotOut queuepb.WorkResponse
	for want, got := range map[proto.Message]proto.Message{in: &gotIn, out: &gotOut} {
		b, err := proto.Marshal(want)
		require.NoError(t, err)
		require.NoError(t, decode(b, got))
	}
	for i := range n {
		for _, payload := range [][]byte{gotIn.GetTasks()[i].GetPayload(), gotOut.GetTasks()[i].GetPayload()} {
			assert.Equal(t, in.GetTasks()[i].GetPayload(), payload)
			for n := range 20 {
				_ = append(payload, bytes.Repeat([]byte{0xee}, n)...)
			}
			clear(payload)
		}
		gotIn.Tasks[i].Payload, gotOut.Tasks[i].Payload = in.GetTasks()[i].GetPayload(), in.GetTasks()[i].GetPayload()
	}
	equal(t, in, &gotIn)
	equal(t, out, &gotOut)
}

// TestTasksSurviveTheNextMessage: a worker retains the tasks of a message while the next message is
// decoded into it.
func TestTasksSurviveTheNextMessage(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var in queuepb.WorkResponse
		var kept, copies []*queuepb.Task
		for range 4 {
			m := &queuepb.WorkResponse{}
			draw(r, m.ProtoReflect())
			b, err := proto.Marshal(m)
			require.NoError(r, err)
			require.NoError(r, decode(b, &in))
			kept, copies = append(kept, in.GetTasks()...), append(copies, m.GetTasks()...)
		}
		for i := range kept {
			equal(r, copies[i], kept[i])
		}
	})
}

// TestWhatIsKeptOfARecycledRequestSurvives: the server retains payloads and names of messages that
// it returns to the pool.
func TestWhatIsKeptOfARecycledRequestSurvives(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		type kept struct {
			payload, wantPayload []byte
			name, wantName       string
		}
		var all []kept
		var produce queuepb.ProduceRequest
		var work queuepb.WorkRequest
		for range 4 {
			p, w := &queuepb.ProduceRequest{}, &queuepb.WorkRequest{}
			draw(r, p.ProtoReflect())
			draw(r, w.ProtoReflect())
			for want, got := range map[proto.Message]proto.Message{p: &produce, w: &work} {
				b, err := proto.Marshal(want)
				require.NoError(r, err)
				require.NoError(r, decode(b, got))
				equal(r, want, got)
			}
			for i, t := range produce.GetTasks() {
				all = append(all, kept{t.GetPayload(), p.GetTasks()[i].GetPayload(), t.GetQueue(), p.GetTasks()[i].GetQueue()})
			}
			for i, s := range work.GetSettlements() {
				all = append(all, kept{s.GetResult(), w.GetSettlements()[i].GetResult(), s.GetError(), w.GetSettlements()[i].GetError()})
			}
			RecycleProduceRequest(&produce)
			RecycleWorkRequest(&work)
			require.Empty(r, produce.GetTasks())
			require.Empty(r, work.GetSettlements())
		}
		for _, k := range all {
			require.True(r, bytes.Equal(k.wantPayload, k.payload))
			require.Equal(r, k.wantName, k.name)
		}
	})
}
