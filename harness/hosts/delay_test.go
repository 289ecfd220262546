package hosts

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// packetTo returns a packet for a host that contains a number.
func packetTo(host int, number uint32) []byte {
	packet := make([]byte, 28)
	packet[0] = 0x45
	copy(packet[16:], []byte{198, 18, 0, byte(host + 1)})
	binary.BigEndian.PutUint32(packet[24:], number)
	return packet
}

// world is a set of in-memory hosts with a clock that only wait advances. The packets that each
// host sends are planned.
type world struct {
	clock   time.Duration
	sent    [][]arrival // by host, ordered by time
	arrived []arrival
	end     time.Duration
	refuse  int // number of next writes to refuse
}

// arrival is a packet at a time: read from a host, or written to one.
type arrival struct {
	at     time.Duration
	host   int // destination
	number uint32
}

// memory is a host of a world.
type memory struct {
	w    *world
	host int
}

func (m memory) read(into []byte) (int, error) {
	queue := m.w.sent[m.host]
	if len(queue) == 0 || queue[0].at > m.w.clock {
		return 0, unix.EAGAIN
	}
	m.w.sent[m.host] = queue[1:]
	return copy(into, packetTo(queue[0].host, queue[0].number)), nil
}

func (m memory) write(packet []byte) error {
	if m.w.refuse > 0 {
		m.w.refuse--
		return unix.EAGAIN
	}
	m.w.arrived = append(m.w.arrived, arrival{m.w.clock, m.host, binary.BigEndian.Uint32(packet[24:])})
	return nil
}

// wait advances the clock to the next packet, or by most if that is earlier. At the end it reports
// a request of the parent.
func (w *world) wait(most time.Duration, readable []bool) (bool, error) {
	next := w.end
	if most >= 0 {
		next = min(next, w.clock+most)
	}
	for _, queue := range w.sent {
		if len(queue) > 0 {
			next = min(next, queue[0].at)
		}
	}
	w.clock = max(w.clock, next)
	for i, queue := range w.sent {
		readable[i] = len(queue) > 0 && queue[0].at <= w.clock
	}
	return w.clock >= w.end, nil
}

// forwardAll forwards packets until the world's end.
func (w *world) forwardAll(t require.TestingT, delay time.Duration, packets int) *forwarder {
	var hosts []device
	for i := range w.sent {
		hosts = append(hosts, memory{w, i})
	}
	f := newForwarder(hosts, packets)
	f.line.delay = delay
	f.now, f.wait = func() time.Duration { return w.clock }, w.wait
	require.NoError(t, f.run(func() (bool, error) { return false, nil }))
	return f
}

// Each packet arrives at its destination exactly the delay after it was sent, in the order of the
// sends.
func TestForwarderDelaysExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		delay := time.Duration(rapid.IntRange(0, 5000).Draw(t, "delay")) * time.Microsecond
		w := &world{sent: make([][]arrival, 3)}
		want := map[uint32]arrival{}
		var at time.Duration
		for number := range uint32(rapid.IntRange(0, 200).Draw(t, "packets")) {
			at += time.Duration(rapid.IntRange(1, 700).Draw(t, "pause")) * time.Microsecond
			a := arrival{at, rapid.IntRange(0, 2).Draw(t, "to"), number}
			from := rapid.IntRange(0, 2).Draw(t, "from")
			w.sent[from] = append(w.sent[from], a)
			a.at += delay
			want[number] = a
		}
		w.end = at + delay + time.Second
		f := w.forwardAll(t, delay, packetsMax)
		require.Len(t, w.arrived, len(want))
		for i, a := range w.arrived {
			require.Equal(t, uint32(i), a.number, "the order is kept")
			require.Equal(t, want[a.number], a)
		}
		require.EqualValues(t, len(want), f.counts.forwarded)
		require.Zero(t, f.counts.report().LateUsMax)
	})
}

// The wait for a packet ends early by the lead, but the packet is delivered on time.
func TestForwarderIsReadyBeforeAPacketIsDue(t *testing.T) {
	w := &world{sent: [][]arrival{{{0, 1, 1}}, nil}, end: time.Second}
	f := newForwarder([]device{memory{w, 0}, memory{w, 1}}, 10)
	f.now = func() time.Duration { return w.clock }
	var waits []time.Duration
	f.wait = func(most time.Duration, readable []bool) (bool, error) {
		waits = append(waits, most)
		if most == 0 {
			w.clock += 10 * time.Microsecond // the cost of reading the clock
		}
		return w.wait(most, readable)
	}
	f.line.delay, f.lead = time.Millisecond, 30*time.Microsecond
	require.NoError(t, f.run(func() (bool, error) { return false, nil }))
	assert.Equal(t, []time.Duration{-1, 970 * time.Microsecond, 0, 0, 0, -1}, waits)
	assert.Equal(t, []arrival{{time.Millisecond, 1, 1}}, w.arrived)
}

// A full line drops and counts new packets, and delivers the packets that it holds. Then it accepts
// packets again.
func TestForwarderIsBounded(t *testing.T) {
	w := &world{sent: make([][]arrival, 2), end: time.Minute}
	for number := range uint32(40) {
		w.sent[0] = append(w.sent[0], arrival{0, 1, number})
	}
	w.sent[0] = append(w.sent[0], arrival{time.Second, 1, 99})
	f := w.forwardAll(t, time.Millisecond, 10)
	require.Len(t, w.arrived, 11)
	for i, a := range w.arrived[:10] {
		assert.Equal(t, arrival{time.Millisecond, 1, uint32(i)}, a)
	}
	assert.Equal(t, arrival{time.Second + time.Millisecond, 1, 99}, w.arrived[10])
	assert.EqualValues(t, 30, f.counts.overflowed)
	assert.EqualValues(t, 30, f.counts.report().Overflowed)
}

// A packet that the device of its host refuses is counted, and not retried.
func TestForwarderCountsWhatIsNotTaken(t *testing.T) {
	w := &world{sent: [][]arrival{{{0, 1, 1}, {0, 1, 2}}, nil}, end: time.Second, refuse: 1}
	f := w.forwardAll(t, 0, 10)
	assert.Equal(t, []arrival{{0, 1, 2}}, w.arrived)
	assert.EqualValues(t, 1, f.counts.unwritten)
	assert.EqualValues(t, 1, f.counts.forwarded)
}

// The forwarder drops packets of another IP version, packets that are too short, and packets for
// unknown addresses.
func TestPacketsForNobody(t *testing.T) {
	six := packetTo(0, 1)
	six[0] = 0x60
	outside := packetTo(0, 1)
	outside[18] = 1
	for name, packet := range map[string][]byte{
		"IPv6": six, "short": packetTo(0, 1)[:19], "empty": nil, "another network": outside, "no such host": packetTo(3, 1), "host 0": packetTo(-1, 1),
	} {
		_, known := indexOf(packet, 3)
		assert.False(t, known, name)
	}
	to, known := indexOf(packetTo(2, 1), 3)
	assert.True(t, known)
	assert.Equal(t, 2, to)
}

// The counts contain the lateness of packets since the last begin.
func TestForwarderCountsLateness(t *testing.T) {
	w := &world{sent: [][]arrival{{{0, 1, 1}}, nil}, end: time.Second}
	hosts := []device{memory{w, 0}, memory{w, 1}}
	f := newForwarder(hosts, 10)
	f.now = func() time.Duration { return w.clock }
	f.wait = func(most time.Duration, readable []bool) (bool, error) {
		requested, err := w.wait(most, readable)
		if most > 0 {
			w.clock += 250 * time.Microsecond // the thread woke up late
		}
		return requested, err
	}
	f.line.delay = time.Millisecond
	require.NoError(t, f.run(func() (bool, error) { return false, nil }))
	assert.InDelta(t, 250, f.counts.report().LateUsP50, 1)
	assert.InDelta(t, 250, f.counts.report().LateUsMax, 1)
	f.counts = newCounts()
	assert.Zero(t, f.counts.report())
}

func TestChecksum(t *testing.T) {
	message := []byte{8, 0, 0, 0, 0x12, 0x34, 0, 1}
	sum := checksum(message)
	binary.BigEndian.PutUint16(message[2:], sum)
	assert.Zero(t, checksum(message), "the sum of a message with its checksum is 0")
}

func TestPercentileOfTrips(t *testing.T) {
	var trips trips
	assert.Zero(t, trips.percentile(50))
	for i := range 100 {
		trips.all = append(trips.all, time.Duration(100-i))
	}
	assert.EqualValues(t, 50, trips.percentile(50))
	assert.EqualValues(t, 99, trips.percentile(99))
	assert.EqualValues(t, 1, trips.percentile(0))
}
